"""Outside: real documents spoiled by chance, so little that most of what a reader expects is there."""

import copy

ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-be", "latin-1", "cp1252", "utf-7", "cp037")
STRANGE = (
    *(None, True, False, 0, -1, 1.5, float("nan"), float("inf"), 2**63, -(2**64), 10**400, "", "\0", "code"),
    *("\ud800", "\r\n\u2028", "a" * 3000, "<b>&\x1b[2J", [], {}, [[]], {"": None}, ["none"], ["tensor", 0]),
    *(["int", 1], {"cell_type": "code", "source": 3}, "x = 1\n" * 50, "1e999", "\ufeff", "\ufdd0", "🔥"),
)
INSERTED = (
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b'"', b"\\", b"\\u0000", b"\\ud800", b"{"),
    b"[" * 3000,
    *(b"]", b"}", b",", b":", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"\r", b"\x1b]0;x\x07"),
    *(b"<<<<<<< a\n", b"\x00\x00\x00\x02{}", b"\xff\xfe", b"null", b'{"cells": [', b'"id": ', b"//"),
    b"\xf0\x9f",
)


def mutated(document, chance):
    """A copy of a JSON value with one to three of its parts changed, moved, repeated, nested or lost."""
    root = [copy.deepcopy(document)]
    for _ in range(chance.randint(1, 3)):
        _mutate(*_somewhere(root, chance), chance)
    return root[0] if root else None


def _somewhere(node, chance):
    """A container and one of its keys, as deep as chance leads."""
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        deeper = [key for key in keys if isinstance(node[key], dict | list) and node[key]]
        key = chance.choice(deeper if deeper and chance.random() < 0.6 else keys)
        below = node[key]
        if not isinstance(below, dict | list) or not below or chance.random() < 0.03:
            return node, key
        node = below


def _mutate(node, key, chance):
    if chance.random() < 0.6:
        node[key] = _of_the_same_type(node[key], chance)
    else:
        _damage(node, key, chance)


def _of_the_same_type(value, chance):
    match value:
        case bool():
            return not value
        case int():
            return chance.choice([0, 1, 2, -1, value + 1, 2**63, 2**64 - 1, 2**64, 10**400])
        case float():
            return chance.choice([0.0, -value, value + 1, 1e-320, 1.7e308, float("nan"), float("inf")])
        case str():
            return chance.choice(
                ["", value + "x", "\ud800", "\0\r\n", "torch.float64", "\x1b[2J", "a" * 2001]
            )
        case list():
            return chance.choice([value[::-1], value[:-1], value * 2, []])
    return value


def _damage(node, key, chance):
    match chance.randrange(8):
        case 0 | 1 | 2:
            node[key] = copy.deepcopy(chance.choice(STRANGE))
        case 3 if len(node) > 1:
            del node[key]
        case 4:
            node[key] = _of_another_type(node[key], chance)
        case 5:
            node[key] = _nested(node[key], chance.choice([1, 3, 12, 13, 45, 200]), chance)
        case 6:
            other = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
            node[key], node[other] = node[other], node[key]
        case _ if isinstance(node, list):
            node[key:key] = [copy.deepcopy(node[key])] * chance.choice([1, 2, 700])
        case _:
            node[chance.choice(["value", "cells", "source", "grad", key + "x"])] = copy.deepcopy(node[key])


def _of_another_type(value, chance):
    match value:
        case str():
            return chance.choice([value.splitlines(keepends=True), list(value), [value], len(value)])
        case bool() | int() | float():
            return chance.choice([str(value), [value], value != 0, -value, value * 10**30])
        case list():
            return chance.choice(["".join(map(str, value)), dict(enumerate(value)), len(value)])
        case dict():
            return chance.choice([list(value.items()), list(value), list(value.values())])
    return [value]


def _nested(value, depth, chance):
    for _ in range(depth):
        value = [value] if chance.random() < 0.7 else {"list": value}
    return value


def spoiled(data, chance):
    """Bytes with a few flipped, lost, repeated, put in or written in another encoding."""
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice([1, 1, 2, 5, 40, 100_000]))
        match chance.randrange(7):
            case 0 | 1:
                flipped = bytes(
                    byte ^ (1 << chance.randrange(8)) for byte in data[start : min(end, start + 5)]
                )
                data = data[:start] + flipped + data[start + len(flipped) :]
            case 2:
                data = data[:start] + data[end:]
            case 3:
                data = data[:end] + data[start:end] * chance.choice([1, 3]) + data[end:]
            case 4:
                data = data[:start] + chance.choice(INSERTED) + data[start:]
            case 5:
                data = data[:start]
            case _:
                encoding = chance.choice(ENCODINGS)
                data = data.decode("utf-8", "replace").encode(encoding, "replace")
    return data
