/** Loaded into a processor before its own code (`node --import`): its wall clock is CLOCK_AHEAD_MS ahead of the machine's. */
const now = Date.now.bind(Date);
const aheadMs = Number(process.env['CLOCK_AHEAD_MS'] ?? 0);
Date.now = () => now() + aheadMs;
