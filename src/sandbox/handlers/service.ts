import { answer, type Handlers } from '../call.js';
import { notFound } from '../errors.js';
import { channelOf } from '../wire/channels.js';
import { formedAnswer } from './lists.js';

/** The organization itself, its channels and its automation templates. */
export const readService: Pick<
  Handlers,
  'whoami' | 'channels' | 'channel' | 'automation_templates' | 'automation_template'
> = {
  whoami: ({ world }) => {
    const { id, name, slug } = world.organization;
    return answer({ organization: { id, name, slug } });
  },

  channels: (call) => {
    const form = { form: call.service.settings.forms.channels, property: 'channels' };
    return formedAnswer(call, form, call.query, [...call.world.channels.values()], (channel) =>
      JSON.stringify(channelOf(call.lens, channel)),
    );
  },

  channel: ({ lens, params, world }) => {
    const channel = world.channels.get(params.channelId);
    if (!channel) throw notFound('Channel', params.channelId);
    return answer(channelOf(lens, channel));
  },

  automation_templates: (call) => {
    const form = { form: call.service.settings.forms.templates, property: 'templates' };
    return formedAnswer(call, form, call.query, [...call.world.templates.values()], (template) =>
      JSON.stringify(template),
    );
  },

  automation_template: ({ params, world }) => {
    const template = world.templates.get(params.slug);
    if (!template) throw notFound('Automation template', params.slug);
    return answer(template);
  },
};
