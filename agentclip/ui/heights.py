"""Heights of many items as rows, with the work of a change limited to what somebody asks for afterwards."""

from __future__ import annotations

from bisect import bisect_right


class Heights:
    """A list of heights that knows where each item begins."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._starts: list[int] = [0]
        """Where items begin, right up to `_valid`, counted from where the first one began before others came before it."""
        self._valid = 0
        self.total = 0

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """One more item at the end."""
        self._heights.append(height)
        self._starts.append(0)
        self.total += height

    def prepend(self, heights: list[int]) -> None:
        """Items before the first. Costs what they cost, however many there are behind them."""
        starts = [self._starts[0] - sum(heights)]
        for height in heights[:-1]:
            starts.append(starts[-1] + height)
        self._heights[:0] = heights
        self._starts[:0] = starts
        self._valid += len(heights)
        self.total += sum(heights)

    def replace(self, index: int, height: int) -> None:
        """Another height for an item."""
        self.total += height - self._heights[index]
        self._heights[index] = height
        self._valid = min(self._valid, index)

    def start(self, index: int) -> int:
        """The first row of an item."""
        starts, heights = self._starts, self._heights
        for at in range(self._valid, index):
            starts[at + 1] = starts[at] + heights[at]
        self._valid = max(self._valid, index)
        return starts[index] - starts[0]

    def at(self, row: int) -> int:
        """The item on a row; the last one for rows behind the end."""
        row += self._starts[0]
        while self._valid < len(self._heights) and self._starts[self._valid] <= row:
            self.start(min(len(self._heights), self._valid + 64))
        return max(0, min(len(self._heights), bisect_right(self._starts, row, 0, self._valid + 1)) - 1)
