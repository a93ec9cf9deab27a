import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface MailServer {
  readonly port: number;
  /** The mails that it took. */
  readonly mails: { readonly to: readonly string[]; readonly text: string }[];
  close(): Promise<void>;
}

/** A real SMTP server on a free port of loopback, which wants a login. */
export async function mailServer(
  user: string,
  password: string,
  options: SMTPServerOptions = {},
): Promise<MailServer> {
  const mails: MailServer['mails'] = [];
  const server = new SMTPServer({
    allowInsecureAuth: true,
    onAuth: ({ username, password: given }, _session, done) =>
      username === user && given === password
        ? done(null, { user })
        : done(new Error(`no ${username} with ${given} here`)),
    onData: (stream, { envelope }, done) => {
      let text = '';
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      stream.on('end', () => {
        mails.push({ to: envelope.rcptTo.map(({ address }) => address), text });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return { port, mails, close: () => new Promise((resolve) => server.close(() => resolve())) };
}
