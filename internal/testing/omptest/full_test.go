package omptest

import (
	"fmt"
	"testing"
)

// TestTurn counts the days on which each of some cases runs, and the cases of each day.
func TestTurn(t *testing.T) {
	const cases, first = 300, 20779
	for _, oneIn := range []int{1, 2, 3} {
		ofDay := make([]int, oneIn)
		for c := range cases {
			turns := 0
			for d := range oneIn {
				if turn(first+d, oneIn, "lane", fmt.Sprint("case_", c)) {
					turns++
					ofDay[d]++
				}
			}
			if turns != 1 {
				t.Errorf("case %d runs %d times in %d days", c, turns, oneIn)
			}
		}
		for d, n := range ofDay {
			if n < cases/oneIn/2 || n > cases/oneIn*3/2 {
				t.Errorf("%d of %d cases on day %d of %d", n, cases, d, oneIn)
			}
		}
	}
	t.Setenv("OMPD_DATE", "2026-11-22")
	if got := dayNumber(date()); got != first {
		t.Errorf("2026-11-22 is day %d", got)
	}
}
