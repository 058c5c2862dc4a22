package history

import (
	"reflect"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TestAlike adds up the rows of copies of one construct, and no others.
func TestAlike(t *testing.T) {
	at := func(line int, pc picture.Hex) *picture.Frame {
		return &picture.Frame{Function: "work", File: "w.c", Line: line, PC: &pc}
	}
	got := alike([]picture.Statistic{
		{Text: "barrier", Frame: at(3, 1), Count: 2, Total: 30, Longest: 20, Threads: 2, Imbalance: 5, Barriers: 1,
			Last: 7, LastCount: 1},
		{Text: "task", Frame: at(3, 1), Count: 1, Total: 25},
		{Text: "barrier", Frame: at(3, 2), Count: 4, Total: 20, Longest: 25, Threads: 3, Imbalance: 6, Barriers: 2,
			Last: 8, LastCount: 2},
		{Text: "barrier", Frame: at(4, 3), Count: 1, Total: 60},
		{Text: "idle", Count: 1, Total: 2},
		{Text: "idle", Count: 1, Total: 1},
	})
	want := []picture.Statistic{
		{Text: "barrier", Frame: at(4, 3), Count: 1, Total: 60},
		{Text: "barrier", Frame: at(3, 1), Count: 6, Total: 50, Longest: 25, Threads: 3, Imbalance: 11, Barriers: 3,
			Last: 8, LastCount: 2},
		{Text: "task", Frame: at(3, 1), Count: 1, Total: 25},
		{Text: "idle", Count: 1, Total: 2},
		{Text: "idle", Count: 1, Total: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
