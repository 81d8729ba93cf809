// How does a number become text in the browser? The same rules as explorer/units.py; a test compares the two.

const TIMES = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Three significant digits without exponent, with thousands separators: 41.7, 2.36, 1,726. */
export function significant(value, digits = 3) {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  let decimals = Math.max(0, digits - 1 - size);
  const rounded = Number(value.toFixed(Math.min(decimals, 20)));
  if (Math.abs(rounded) >= 10 ** (size + 1)) decimals = Math.max(0, decimals - 1);
  return rounded.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Nanoseconds with a fitting prefix: `2.36 ms`. */
export function duration(value) {
  for (const [size, unit] of TIMES) {
    if (Math.abs(value) >= size * 0.9995) return `${significant(value / size)} ${unit}`;
  }
  return `${significant(value)} ns`;
}

/** A point in time, with digits down to what differs in a view of that extent: `12.3456 ms`. */
export function moment(value, extent) {
  const [size, unit] = TIMES.find(([each]) => Math.abs(value) >= each) ?? TIMES[3];
  const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / Math.max(extent / 2000, 1)))));
  return `${(value / size).toLocaleString("en-US", { maximumFractionDigits: decimals })} ${unit}`;
}

/** A whole number with thousands separators. */
export function count(value) {
  return value.toLocaleString("en-US");
}

/** A share from 0 to 1 in percent: `5.5 %`. */
export function share(value) {
  const percent = value * 100;
  if (percent === 0 || Math.abs(percent) >= 9.95) return `${percent.toFixed(0)} %`;
  return `${significant(percent, 2)} %`;
}

/** A kernel's or operator's name without return type, namespaces and template arguments. */
export function shortName(name) {
  if (name.length <= 24 && !name.includes("<")) return name;
  const plain = name.replace(/^(void|static|inline)\s+/, "").replace(/\(anonymous namespace\)::/g, "");
  const bare = plain.split(/[<(]/, 1)[0];
  if (name.startsWith("aten::") || name.startsWith("torch")) return bare || name;
  const parts = bare.split("::").filter(Boolean);
  return parts.length ? parts[parts.length - 1].trim() : name;
}
