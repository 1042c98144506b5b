#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a folder of tiny grey JPEG files, train/<class>/ and test/<class>/: make_pictures.py FOLDER.

The files are baseline JPEGs of 16 x 16 pixels with the standard's own tables (ITU-T T.81, annex K); every block is its
mean value only, which needs no other code than "category" and "end of block"."""

import pathlib
import struct
import sys

BITS_DC = bytes([0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
CODES = {0: "00", 1: "010", 2: "011", 3: "100", 4: "101", 5: "110", 6: "1110", 7: "11110", 8: "111110"}
# One AC code only, the end of block, as a table of its own with two symbols of one and two bits.
BITS_AC = bytes([0, 2] + [0] * 14)


def segment(marker, data):
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def jpeg(levels):
    """Four blocks of 8 x 8 with the given grey levels, -100 .. 100 around the middle."""
    bits = ""
    previous = 0
    for level in levels:
        difference, previous = level - previous, level
        size = abs(difference).bit_length()
        bits += CODES[size]
        if size:
            bits += format(difference if difference > 0 else difference + (1 << size) - 1, f"0{size}b")
        bits += "00"
    bits += "1" * (-len(bits) % 8)
    coded = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\x00")
    return (
        b"\xff\xd8"
        + segment(0xDB, bytes([0]) + bytes([8] * 64))
        + segment(0xC0, struct.pack(">BHHB", 8, 16, 16, 1) + bytes([1, 0x11, 0]))
        + segment(0xC4, bytes([0x00]) + BITS_DC + bytes(range(12)))
        + segment(0xC4, bytes([0x10]) + BITS_AC + bytes([0x00, 0xF0]))
        + segment(0xDA, bytes([1, 1, 0x00, 0, 63, 0]))
        + coded
        + b"\xff\xd9"
    )


def main():
    root = pathlib.Path(sys.argv[1])
    for part in ("train", "test"):
        for number, name in enumerate(("cat", "dog")):
            folder = root / part / name
            folder.mkdir(parents=True)
            for i in range(20):
                shade = 20 + 3 * i if number else -20 - 3 * i
                (folder / f"{i}.jpg").write_bytes(jpeg([shade, -shade, shade // 2, shade]))


if __name__ == "__main__":
    main()
