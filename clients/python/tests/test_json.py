"""JSON that Python's own reader refuses, or reads into texts that cannot be printed."""

from __future__ import annotations

from unittest import TestCase

from acpd_client.read_json import read_json, write_json


class Json(TestCase):
    def test_halves_of_surrogate_pairs_are_replaced(self) -> None:
        read = read_json('["a\\ud83d","\\ude00","\\ud83d\\ude00","\\\\ud83d","\\uD83D\\ud83d\\ude00"]')
        self.assertEqual(read, ["a\ufffd", "\ufffd", "😀", "\\ud83d", "\ufffd😀"])
        for text in read:
            text.encode()

    def test_numbers_and_nesting_of_any_size_are_read(self) -> None:
        digits = "9" * 5000
        self.assertEqual(read_json(f"[{digits}, 12, 1e999]"), [digits, 12, float("inf")])
        deep = "[" * 100_000 + '"]\\""' + "]" * 100_000
        value = read_json(f'{{"deep":{deep},"after":1}}')
        self.assertEqual(value["after"], 1)
        levels, inner = 0, value["deep"]
        while isinstance(inner, list):
            levels, inner = levels + 1, inner[0]
        self.assertEqual(deep, "[" * levels + inner + "]" * levels)
        with self.assertRaises(ValueError):
            read_json("{")

    def test_texts_that_are_cut_within_a_character_can_be_sent(self) -> None:
        self.assertEqual(write_json({"a": "\ud83d\ude00 \ud83d"}), '{"a":"😀 \ufffd"}'.encode())
