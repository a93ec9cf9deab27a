import { type Iso, millis } from '../base/clock.js';
import { ago, count, duration } from '../base/units.js';
import { wallAt } from '../base/zone.js';
import { type Html, html } from './html.js';

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const dayMs = 86_400_000;

/** Moments as the page shows them: as an age, or by the clock of one time zone. Each has the exact time as its title. */
export class Times {
  constructor(
    readonly now: number,
    /** A time zone that this machine knows. */
    readonly zone: string,
  ) {}

  /** `3 min ago`, or `in 6 h 20 min`. */
  since(at: Iso | null): Html {
    return this.#time(at, (ms) => (ms > this.now ? `in ${duration(ms - this.now)}` : ago(ms, this.now)));
  }

  /** `126 d`, or `5 h` within a day: for lists. */
  age(at: Iso | null): Html {
    return this.#time(at, (ms) => {
      const hours = Math.max(0, this.now - ms) / 3_600_000;
      return hours < 24 ? `${Math.floor(hours)} h` : `${count(Math.floor(hours / 24))} d`;
    });
  }

  /** `today 03:00`, `Monday 03:00` within a week, `21 Nov 03:00` otherwise. */
  at(at: Iso | null): Html {
    return this.#time(at, (ms) => this.#clock(ms));
  }

  /** `03:00`. */
  hour(ms: number): string {
    return new Date(wallAt(ms, this.zone)).toISOString().slice(11, 16);
  }

  #clock(ms: number): string {
    const [wall, today] = [wallAt(ms, this.zone), wallAt(this.now, this.zone)];
    const date = new Date(wall);
    const away = Math.floor(wall / dayMs) - Math.floor(today / dayMs);
    const near = { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' }[away];
    const month = `${date.getUTCDate()} ${months[date.getUTCMonth()]}`;
    const year = date.getUTCFullYear();
    const far = year === new Date(today).getUTCFullYear() ? month : `${month} ${year}`;
    const day = near ?? (Math.abs(away) < 7 ? days[date.getUTCDay()] : far);
    return `${day} ${this.hour(ms)}`;
  }

  #time(at: Iso | null, text: (ms: number) => string): Html {
    const ms = millis(at);
    if (ms === null) return html`<span class="quiet">never</span>`;
    const exact = new Date(wallAt(ms, this.zone)).toISOString().slice(0, 19).replace('T', ' ');
    return html`<time datetime="${new Date(ms).toISOString()}" title="${exact} ${this.zone}">${text(ms)}</time>`;
  }
}
