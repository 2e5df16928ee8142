/** Encodes a protobuf field that holds an integer. */
export function varintField(field: number, value: number): Buffer {
  return Buffer.from([field << 3, ...varint(value)]);
}

export function textField(field: number, text: string): Buffer {
  return lengthField(field, Buffer.from(text));
}

/** Encodes a protobuf field that holds bytes or a message. */
export function lengthField(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  return [...bytes, left];
}
