// Times in the zone of whoever looks, written as the command line writes them.

let epoch = 0;
let now = 0;
let seen = 0;

// When the time of the service began, and how late it is there.
export function set(epochMs, nowMs) {
  epoch = epochMs;
  if (nowMs !== undefined) {
    now = nowMs;
    seen = performance.now();
  }
}

export const nowMs = () => now + (performance.now() - seen);

const two = (value) => String(value).padStart(2, "0");

// A time of day, with the date if that is not today's.
export function at(ms) {
  const then = new Date(epoch + Math.floor(ms));
  const today = new Date();
  const clock = `${two(then.getHours())}:${two(then.getMinutes())}`;
  if (then.toDateString() === today.toDateString()) return `${clock}:${two(then.getSeconds())}`;
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${clock}`;
}

export const machine = (ms) => new Date(epoch + Math.floor(ms)).toISOString();

// How far this clock is ahead of UTC.
export const offset = () => -new Date().getTimezoneOffset() * 60;

export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";

// 45 s, 3.4 min, 6.2 h, 12 d.
export function span(ms) {
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 119.5) return `${Math.round(seconds)} s`;
  const [unit, name] = seconds < 7170 ? [60, "min"] : seconds < 345000 ? [3600, "h"] : [86400, "d"];
  const value = seconds / unit;
  return `${value >= 99.5 ? Math.round(value) : value.toFixed(1).replace(/\.0$/, "")} ${name}`;
}
