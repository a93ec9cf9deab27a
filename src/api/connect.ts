import { lookup as systemLookup } from 'node:dns';
import { buildConnector } from 'undici';

/**
 * Connects within `connectMs`, whichever address of the host answers: each has its share of that time. The runtime gives
 * each 250 ms, which a handshake over a long way does not keep, so that a host with a dead second address was never reached.
 */
export function connectorWithin(
  connectMs: number,
  lookup: typeof systemLookup = systemLookup,
): buildConnector.connector {
  const byAddresses = new Map<number, buildConnector.connector>();
  const connectorFor = (addresses: number): buildConnector.connector => {
    const made =
      byAddresses.get(addresses) ??
      buildConnector({
        timeout: connectMs,
        autoSelectFamily: true,
        autoSelectFamilyAttemptTimeout: shareOf(connectMs, addresses),
        lookup,
      });
    byAddresses.set(addresses, made);
    return made;
  };
  return (options, callback) => {
    lookup(options.hostname.replace(/^\[|\]$/g, ''), { all: true }, (error, addresses) => {
      if (error) callback(error, null);
      else connectorFor(addresses.length)(options, callback);
    });
  };
}

/** The part of `connectMs` that one of this many addresses has; the runtime takes no less than 10 ms. */
export function shareOf(connectMs: number, addresses: number): number {
  return Math.max(10, Math.floor(connectMs / Math.max(1, addresses)));
}
