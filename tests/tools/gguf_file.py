# SPDX-License-Identifier: Apache-2.0
"""Small GGUF files of version 3, written from numbers, truths, texts and lists of texts or numbers."""
import struct

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", F32, value)
    if isinstance(value, bool):
        return text(key) + struct.pack("<I?", BOOL, value)
    if isinstance(value, list) and value and not isinstance(value[0], str):
        kind, code = (F32, "f") if isinstance(value[0], float) else (I32, "i")
        return text(key) + struct.pack(f"<IIQ{len(value)}{code}", ARRAY, kind, len(value), *value)
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(text(v) for v in value)
    return text(key) + struct.pack("<II", U32, value)


def gguf(metadata, tensors):
    """The bytes of a file. `tensors` is {name: (dimensions, number of the type, data)}."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(entry(k, v) for k, v in metadata.items())
    data = b""
    for name, (dims, kind, blocks) in tensors.items():
        head += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        head += struct.pack("<IQ", kind, len(data))
        data += blocks + bytes(-len(blocks) % 32)
    return head + bytes(-len(head) % 32) + data
