import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that can lose one answer: the request is executed, and its sender never learns of it. */
export interface LosingProxy {
  readonly port: number;
  /**
   * Waits until bytes that match each of these came by, in their order: the request with the last of them is passed on, and
   * the connection ends when its answer arrives.
   */
  loseAnswerTo(...requests: readonly RegExp[]): void;
  /** How many answers were lost. */
  lost(): number;
  close(): Promise<void>;
}

export async function losingProxy(target: string): Promise<LosingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let awaited: readonly RegExp[] = [];
  let lost = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let isLosing = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
    }
    client.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      while (awaited[0]?.test(text)) {
        awaited = awaited.slice(1);
        isLosing = awaited.length === 0;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!isLosing) {
        client.write(bytes);
        return;
      }
      lost += 1;
      client.destroy();
      upstream.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    loseAnswerTo(...requests) {
      awaited = requests;
    },
    lost: () => lost,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
