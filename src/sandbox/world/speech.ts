import type { Random } from './random.js';
import { capitalized, type Kind, type Subject } from './topics.js';

/**
 * Sentences of support, sales and community traffic. `{subject}` and `{area}` come from the topic, the other slots from
 * `slots`. A message is one main sentence of its role, often with a sentence before or after it.
 */
type ByKind = Readonly<Record<Kind, readonly string[]>>;

/** The first message of a conversation. */
const openers: ByKind = {
  bug: [
    'It looks like {subject}.',
    'We noticed {day} that {subject}.',
    'Bug report: {subject}. Steps: open a project, do the usual, and watch.',
    'Since {version} I see that {subject}. Is this known?',
    'Is it just us, or is it true that {subject}?',
    'My {team} team reports that {subject}.',
    'Can someone look into this? {Subject}.',
    'We have a problem with {area}: {subject}.',
    'Support told me to post here: {subject}.',
    'Third time this month that {subject}.',
    '{Subject}. This worked before {version}.',
    'I can reproduce it every time: {subject}.',
  ],
  wish: [
    'We would love {subject}.',
    'Is there any plan for {subject}?',
    'Feature request: {subject}.',
    'Our {team} team keeps asking for {subject}.',
    'The one thing we miss in {area} is {subject}.',
    '{Subject} would save us about {n} hours a week.',
    'Before we roll this out to {n} people we need {subject}.',
    'Upvote from us for {subject}.',
    'Has anyone found a way to get {subject}?',
    'Other tools have it already: {subject}.',
  ],
  question: [
    'Can someone explain {subject}?',
    'I cannot find in the docs {subject}.',
    'Quick question: {subject}?',
    'New here. Could you tell me {subject}?',
    'Our {team} team asked me {subject}, and I had no answer.',
    'What is the recommended way? I mean, {subject}.',
    'I searched the help centre for an hour. I still do not know {subject}.',
    'Before I break something: {subject}?',
  ],
  deal: [
    'Could you send us a quote for {subject}?',
    'We are comparing vendors and need a price for {subject}.',
    'Who can I talk to about {subject}?',
    'Our procurement asks for {subject}. What are the terms?',
    'We have {n} people today and will double next year. What would {subject} cost?',
    'Is there a list price for {subject}?',
    'Our contract ends in {n} days, and we are thinking about {subject}.',
  ],
  praise: [
    'I just wanted to say thank you for {subject}.',
    'Huge praise for {subject}, it changed how our {team} team works.',
    'Whoever built {area}: you made my week.',
    'We moved {n} people last month, and {area} was the part everybody liked.',
    'Five stars for {area} from our {team} team.',
    'Honestly, {area} is the best I have used so far.',
  ],
};

/** The opener comes back with more. */
const details: ByKind = {
  bug: [
    'It happens in about one of {n} attempts.',
    'Here is what I see: the request is sent, and nothing comes back.',
    'I tried {browser} as well, same result.',
    'Clearing the cache did not help.',
    'A colleague in another workspace does not see it.',
    'It started {day} around {time}.',
    'I have attached a screenshot and the log.',
    'It is still there in {version}.',
    'The error code is {code}, if that helps.',
  ],
  wish: [
    'A simple version would do for a start.',
    'We would even pay extra for it.',
    'Today we do this with a spreadsheet and {n} manual steps.',
    'It should respect permissions, of course.',
    'I can join a call and show our process.',
    'Our {team} team would test a beta gladly.',
  ],
  question: [
    'I found a setting with a similar name, but it does something else.',
    'We are on {version}, if that matters.',
    'It is for {n} people in the {team} team.',
    'I am an admin, so I should have the rights.',
    'Does it also work through the API?',
  ],
  deal: [
    'We would sign before the end of the quarter.',
    'Please include support and onboarding.',
    'Our legal team needs the data processing agreement too.',
    'The budget is approved for {n} seats.',
    'Is there a discount for paying up front?',
  ],
  praise: [
    'Please pass it on to the team.',
    'We will renew, that is for sure.',
    'You may quote me on that.',
    'It saves us {n} clicks a day.',
  ],
};

/** Others join in. */
const echoes: ByKind = {
  bug: [
    'Same here, on {browser}.',
    'We see this too, with {n} people affected.',
    'Confirming for our workspace. It began with {version}.',
    'It works for me, for what it is worth.',
    'For us it helped to log out and in again.',
    'Following. {Subject} here as well.',
    'Any news on this? It hurts our {team} team daily.',
  ],
  wish: [
    '+1 from us.',
    'Yes please! We need {subject} too.',
    'This would be a game changer for our {team} team.',
    'I would rather see {area} become faster first.',
    'We built a workaround with the API, happy to share.',
  ],
  question: [
    'I had the same question.',
    'There is a setting for it under workspace, advanced.',
    'The docs have a page on {area}, but it is outdated.',
    'We solved it with an automation.',
    'Watching this thread, {subject} would interest me too.',
  ],
  deal: [
    'We got an offer last year, ask for your account manager.',
    'Adding our procurement in copy.',
    'Interested as well, for {n} seats.',
  ],
  praise: ['Agreed!', 'Could not have said it better.', 'Same for us, {area} is great.', 'Well deserved.'],
};

/** Staff answers. */
const answers: ByKind = {
  bug: [
    'Thanks for the report. Could you tell us which version and browser you use?',
    'I can reproduce this, and have opened {ticket}.',
    'This is fixed in {version}, which rolls out {day}.',
    'Sorry for the trouble. As a workaround, please disable the preview in the settings.',
    'Our engineers found the cause: a timeout in {area}. A fix is on its way.',
    'Could you send the log of the failing request? The code starts with {code}.',
    'We have added your workspace to {ticket} and will update you there.',
    'This was a side effect of the maintenance {day}. It should be fine now.',
  ],
  wish: [
    'Thank you, I have added your vote to {ticket}.',
    'This is on our roadmap for the next two quarters.',
    'We have no plans for it yet, but tell me more about your case.',
    'A beta starts {day}. Shall I put you on the list?',
    'Our product manager for {area} would like a call with you.',
    'You can get close to it today with automations. I will send you an example.',
  ],
  question: [
    'Good question! Go to settings, then {area}, and choose advanced.',
    'The help centre has an article on it, I will send you the link.',
    'That is possible from {version} on.',
    'Only admins can do this. I have sent you the steps by email.',
    'It is not possible in the interface, but the API can do it.',
  ],
  deal: [
    'Happy to help! I will send you an offer {day}.',
    'For {n} seats and more there is a volume price. May I call you?',
    'I have forwarded this to our sales team, they answer within a day.',
    'The list price is on our website; for an annual term we can talk about a discount.',
    'Attached is the quote, valid for 30 days.',
  ],
  praise: [
    'Thank you so much, I will pass it on!',
    'This made our day.',
    'Great to hear! Would you like to tell your story on our blog?',
  ],
};

/** Notes for the team only (`isInternal`). */
const notes: readonly string[] = [
  'Internal: this account renews in {n} days, please handle with care.',
  'Internal: same as {ticket}.',
  'Internal: asked engineering, answer expected {day}.',
  'Internal: customer is right, our docs are wrong here.',
  'Internal: escalated to the {team} lead.',
  'Internal: do not promise a date, {area} is being rewritten.',
];

const thanks: readonly string[] = [
  'Thanks, that solved it!',
  'Great, thank you for the quick answer.',
  'That works. You can close this.',
  'Perfect, thanks!',
  'Okay, I will wait for the update then.',
  'Thank you. Not ideal, but we can live with it.',
  'Understood. Please keep me posted.',
];

const botLines: readonly string[] = [
  'Thanks for your message! Our team usually answers within {n} minutes.',
  'This conversation was linked to {ticket}.',
  '{ticket} changed from In progress to Done.',
  'Reminder: this conversation has waited for an answer since {day}.',
  'A new release, {version}, mentions this issue.',
];

const greetings: readonly string[] = [
  'Hi,',
  'Hello team,',
  'Hi there!',
  'Good morning,',
  'Hey all,',
  'Dear support,',
];

/** Sentences that may follow the main sentence of an opener. */
const effects: readonly string[] = [
  'It blocks {n} people in our {team} team.',
  'We are on {version}, {browser}.',
  'This is urgent, we have a deadline {day}.',
  'No hurry, but it would help.',
  'It cost us half a day already.',
  'Our {team} team is losing patience.',
  'We pay for {n} seats, so this matters to us.',
  'I could not find anything about it in the docs.',
  'Let me know if you need more details.',
];

/** The same concerns in other languages and scripts. */
const foreign: readonly string[] = [
  'こんにちは。{area} についてですが、うまく動きません。ご確認をお願いします 🙏',
  '您好,我们在使用 {area} 时遇到问题,请帮忙看看。谢谢!',
  '안녕하세요, {area} 관련해서 문의드립니다. 확인 부탁드려요.',
  'مرحبا، لدينا مشكلة مع {area}. هل يمكنكم المساعدة؟ شكرًا',
  'שלום, יש לנו בעיה עם {area}. נשמח לעזרה, תודה!',
  'Guten Tag, seit {version} klappt das bei uns nicht mehr. Können Sie das prüfen? Viele Grüße',
  'Bonjour, nous avons le même problème avec {area} depuis la mise à jour. Merci d’avance !',
  'Hola, ¿alguien sabe si esto se va a arreglar? Afecta a {n} personas de nuestro equipo.',
  'Olá! Isto também não funciona em {browser}. Alguma previsão?',
  'Здравствуйте! У нас та же проблема с {area}, версия {version}.',
  'नमस्ते, {area} में दिक्कत आ रही है। कृपया मदद करें।',
  'Xin chào, chúng tôi cũng gặp lỗi này với {area}. Cảm ơn ạ!',
];

/** Content that careless programs handle wrongly: markup, code, quotes, formulas, combining marks. */
const awkward: readonly string[] = [
  '<p>See <b>{area}</b> &amp; the <a href="https://status.example/incidents?id={n}&amp;x=1">status page</a>.</p>',
  "<script>alert('hello from a signature')</script> Sent from my phone",
  '```json\n{ "error": "{code}", "retry": false, "path": "C:\\\\temp\\\\export.csv" }\n```\nThat is what the API answers.',
  '**Steps**\n\n1. Open _{area}_\n2. Click `Save`\n3. Nothing happens\n\n> It worked before {version}\n\n| a | b |\n|---|---|\n| 1 | 2 |',
  '=HYPERLINK("https://example.com/?q={n}","click me") was in the exported cell',
  "\"We're 'done',\" she said; then: \\n is not a newline, and neither is %0A or &#10;.",
  'Te\u0301\u0302\u0323xt with stacked marks, a zero\u200bwidth space, a soft\u00adhyphen and a \u202eright-to-left override\u202c.',
  '🎉🎉🎉 finally!! 👩🏽‍💻🏳️‍🌈🇯🇵 works for our {team} team 🚀',
  "Robert'); DROP TABLE messages;-- is a perfectly valid project name, yet {area} refuses it.",
  'Line one\r\nLine two\r\n\r\n\tIndented line, then trailing spaces   \r\n-- \r\nJo, {team}',
];

const slots: Readonly<Record<string, readonly string[]>> = {
  day: [
    'today',
    'yesterday',
    'on Monday',
    'last Tuesday',
    'on Friday',
    'last week',
    'this morning',
    'next week',
  ],
  version: ['4.9', '4.10', '4.11', '4.11.3', '4.12', '4.12.1', '4.12.4', '5.0 beta'],
  browser: ['Chrome 130', 'Firefox 132', 'Safari 18', 'Edge 131', 'the desktop app', 'the mobile app'],
  team: [
    'support',
    'finance',
    'marketing',
    'engineering',
    'design',
    'sales',
    'operations',
    'legal',
    'research',
  ],
  time: ['8:15', '9:40', '11:05', '14:30', '16:20', '17:55', '23:10'],
};

/** The role of a message: the first one, its author again, another customer, staff, an internal note, thanks, a bot. */
export type Role = 'opener' | 'detail' | 'echo' | 'answer' | 'note' | 'thanks' | 'bot';

/** The text of a message about `subject` in that role; about one in 30 is in another language or awkward to handle. */
export function messageText(random: Random, subject: Subject, role: Role): string {
  const main = random.pick(linesOf(role, subject));
  if (role === 'note' || role === 'bot' || role === 'thanks') return fill(random, main, subject);
  const odd = random.unit();
  if (odd < 0.018) return fill(random, random.pick(foreign), subject);
  const sentences = [main];
  if (odd < 0.035) sentences.push(random.pick(awkward));
  if (role === 'opener') {
    if (random.chance(0.35)) sentences.unshift(random.pick(greetings));
    if (random.chance(0.55)) sentences.push(random.pick(effects));
    if (random.chance(0.25)) sentences.push(random.pick(details[subject.kind]));
  } else if (role === 'detail' && random.chance(0.3)) {
    sentences.push(random.pick(effects));
  } else if (role === 'answer' && random.chance(0.15)) {
    sentences.unshift(random.pick(greetings));
  }
  return fill(random, sentences.join(random.chance(0.2) ? '\n\n' : ' '), subject);
}

/** A message with a pasted log of more than 20,000 characters. */
export function longText(random: Random, subject: Subject): string {
  const lines = [fill(random, 'Here is the complete log. {Subject}.', subject), '```'];
  let length = 0;
  for (let line = 1; length < 21_000; line++) {
    const level = random.weighted({ INFO: 8, WARN: 2, ERROR: 1 });
    const text = `${String(line).padStart(5, '0')} ${level} [worker-${random.whole(1, 8)}] request=${random.uuid()} took=${random.whole(2, 9000)}ms path="/v2/items?page=${line}&q=na\u00efve" \u2713`;
    lines.push(text);
    length += text.length + 1;
  }
  return [...lines, '```'].join('\n');
}

function linesOf(role: Role, subject: Subject): readonly string[] {
  switch (role) {
    case 'opener':
      return openers[subject.kind];
    case 'detail':
      return details[subject.kind];
    case 'echo':
      return echoes[subject.kind];
    case 'answer':
      return answers[subject.kind];
    case 'note':
      return notes;
    case 'thanks':
      return thanks;
    case 'bot':
      return botLines;
  }
}

function fill(random: Random, text: string, subject: Subject): string {
  if (!text.includes('{')) return text;
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => {
    switch (name) {
      case 'subject':
        return subject.phrase;
      case 'Subject':
        return capitalized(subject.phrase);
      case 'area':
        return subject.area;
      case 'n':
        return String(random.whole(2, 60));
      case 'ticket':
        return `LUM-${random.whole(100, 9999)}`;
      case 'code':
        return `E${random.whole(1000, 9999)}`;
      default: {
        const values = slots[name];
        return values === undefined ? slot : random.pick(values);
      }
    }
  });
}
