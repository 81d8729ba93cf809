// What did the server send for a view? The layout is described in explorer/ui/timeline/wire.py.

const RECTANGLE = {
  start: Float64Array,
  length: Float32Array,
  event: Uint32Array,
  name: Uint32Array,
  colour: Uint8Array,
  matched: Uint8Array,
};
const BLOCK = {
  start: Float64Array,
  length: Float32Array,
  first: Uint32Array,
  count: Uint32Array,
  busy: Float32Array,
  matched: Uint32Array,
  colour: Uint8Array,
};

/** `{start, end, rows: Map(key → {rectangles, blocks})}`; starts are nanoseconds from `start`. */
export function decodeView(buffer) {
  const headLength = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headLength)));
  const sum = (field) => head.rows.reduce((total, row) => total + row[field], 0);
  let at = 4 + headLength;
  const columns = (layout, length) => {
    const read = {};
    for (const [name, Type] of Object.entries(layout)) {
      read[name] = new Type(buffer, at, length);
      at += Math.ceil((length * Type.BYTES_PER_ELEMENT) / 8) * 8;
    }
    return read;
  };
  const rectangles = columns(RECTANGLE, sum("rectangle_count"));
  const blocks = columns(BLOCK, sum("block_count"));
  const rows = new Map();
  let rectangle = 0;
  let block = 0;
  for (const row of head.rows) {
    rows.set(row.key, {
      rectangles: part(rectangles, rectangle, (rectangle += row.rectangle_count)),
      blocks: part(blocks, block, (block += row.block_count)),
    });
  }
  return { start: head.start_ns, end: head.end_ns, rows, bytes: buffer.byteLength };
}

function part(columns, first, last) {
  const cut = { size: last - first };
  for (const [name, column] of Object.entries(columns)) cut[name] = column.subarray(first, last);
  return cut;
}
