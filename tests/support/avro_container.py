"""Avro container files by hand, so that tests need no library: header, blocks, and the bytes in them."""
import json
import zlib

MAGIC = b"Obj\x01"
SYNC = bytes(range(16))


def put_long(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def get_long(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def get_bytes(data, at):
    size, at = get_long(data, at)
    assert 0 <= size <= len(data) - at
    return data[at:at + size], at + size


def write(schema, blocks, sync=SYNC):
    """`schema` as text or as what json.loads gives; blocks: (count, bytes), not compressed."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    out = MAGIC + put_long(1) + put_long(11) + b"avro.schema" + put_long(len(text)) + text + b"\x00" + sync
    for count, data in blocks:
        out += put_long(count) + put_long(len(data)) + data + sync
    return out


def read(data):
    """(metadata, [(count, bytes)]); codecs null and deflate. Anything wrong is an AssertionError."""
    assert data[:4] == MAGIC
    meta, at = {}, 4
    while True:
        count, at = get_long(data, at)
        if count == 0:
            break
        if count < 0:
            count, at = -count, get_long(data, at)[1]
        for _ in range(count):
            key, at = get_bytes(data, at)
            meta[key.decode()], at = get_bytes(data, at)
    sync, at = data[at:at + 16], at + 16
    blocks = []
    while at < len(data):
        count, at = get_long(data, at)
        block, at = get_bytes(data, at)
        assert data[at:at + 16] == sync, f"no sync marker at {at}"
        at += 16
        if meta.get("avro.codec") == b"deflate":
            block = zlib.decompress(block, -15)
        blocks.append((count, block))
    return meta, blocks


def datums(data):
    """All records of the file as one run of bytes, and how many they are."""
    blocks = read(data)[1]
    return b"".join(b for _, b in blocks), sum(c for c, _ in blocks)
