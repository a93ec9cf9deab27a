import { ExitCode } from '../../base/errors.js';
import { command } from '../command.js';
import { setUp } from '../setup.js';
import { untilSignal } from '../signals.js';
import { explanationText } from '../text/explanation.js';

export const mcp = command({
  name: 'mcp',
  summary: 'Let an assistant read the published file (MCP over stdin and stdout)',
  examples: [
    ['signalhouse mcp --data-dir /srv/signals', 'For the settings of an assistant'],
    ['claude mcp add signalhouse -- npx signalhouse mcp', 'For Claude Code'],
  ],
  flags: {},
  async run(_flags, context) {
    const { serveAssistant } = await import('../../app/assistant.js');
    const stop = new AbortController();
    void untilSignal().then(() => stop.abort());
    await serveAssistant(await setUp(context), stop.signal, explanationText);
    return ExitCode.done;
  },
});
