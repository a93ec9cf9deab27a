// Loaded before the program (`node --import`): its clock is CLOCK_AHEAD_MS ahead of the machine's.
const ahead = Number(process.env.CLOCK_AHEAD_MS);
const machine = Date;

globalThis.Date = new Proxy(machine, {
  construct: (target, args, self) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + ahead] : args, self),
  get: (target, name) => (name === 'now' ? () => target.now() + ahead : Reflect.get(target, name)),
});
