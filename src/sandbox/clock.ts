/** The service's wall clock, which a test can move: key expiry and the 24 hours of a stored answer are read from it. */
export class ServiceClock {
  #skewMs = 0;

  /** Milliseconds since the epoch, as the service sees them. */
  now(): number {
    return Date.now() + this.#skewMs;
  }

  /** Sets how far the service's clock is ahead of the machine's, in milliseconds (negative: behind). */
  skew(skewMs: number): void {
    this.#skewMs = skewMs;
  }
}
