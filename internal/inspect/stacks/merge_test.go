package stacks

import (
	"slices"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

func frameAt(pc, entry picture.Hex) picture.Frame {
	f := picture.Frame{Kind: picture.FrameUser, Module: "a.out", PC: &pc}
	if entry != 0 {
		f.Entry = &entry
	}
	return f
}

func library(pc picture.Hex) picture.Frame {
	return picture.Frame{Kind: picture.FrameSystem, Module: "libm.so.6", PC: &pc, Offset: uint64(pc)}
}

func near(function string, n int) picture.Frame {
	f := line(function, n)
	f.Near = true
	return f
}

func line(function string, n int) picture.Frame {
	pc := picture.Hex(0x1000 + n)
	return picture.Frame{Kind: picture.FrameUser, Function: function, File: "a.c", Line: n, PC: &pc}
}

// TestMergeStacks merges the stacks of threads 1, 2, …
func TestMergeStacks(t *testing.T) {
	for name, tt := range map[string]struct {
		stacks [][]picture.Frame
		want   [][]int // the groups' threads
	}{
		"none":      {nil, nil},
		"no stack":  {[][]picture.Frame{nil, {line("f", 1)}}, [][]int{{2}}},
		"one line":  {[][]picture.Frame{{line("f", 1)}, {line("f", 1)}}, [][]int{{1, 2}}},
		"two lines": {[][]picture.Frame{{line("f", 1)}, {line("f", 2)}}, [][]int{{1}, {2}}},
		"the larger group first": {[][]picture.Frame{{line("f", 1)}, {line("g", 2)}, {line("g", 2)}},
			[][]int{{2, 3}, {1}}},
		"stripped, one function": {[][]picture.Frame{{frameAt(0x11, 0x10)}, {frameAt(0x12, 0x10)}, {frameAt(0x11,
			0x10)}},
			[][]int{{1, 2, 3}}},
		"stripped, two functions": {[][]picture.Frame{{frameAt(0x11, 0x10)}, {frameAt(0x21, 0x20)}}, [][]int{{1}, {2}}},
		"stripped, entry unknown": {[][]picture.Frame{{frameAt(0x11, 0)}, {frameAt(0x12, 0)}, {frameAt(0x11, 0)}},
			[][]int{{1, 3}, {2}}},
		"a library without symbols": {[][]picture.Frame{{library(0x11), line("f", 1)}, {library(0x95), line("f", 1)},
			{library(0x11), library(0x44), line("f", 1)}, {library(0x11), line("g", 1)}}, [][]int{{1, 2, 3}, {4}}},
		"lines that are near": {[][]picture.Frame{{line("f", 3)}, {near("f", 2)}, {near("f", 4)}, {line("f", 5)},
			{near("g", 3)}}, [][]int{{1, 2, 3}, {4}, {5}}},
		"one is deeper": {[][]picture.Frame{{frameAt(0x11, 0x10)}, {frameAt(0x11, 0x10), frameAt(0x21, 0x20)}},
			[][]int{{1}, {2}}},
		"stripped below a library": {[][]picture.Frame{{line("read", 0), frameAt(0x11, 0x10)},
			{line("read", 0), frameAt(0x19, 0x10)}}, [][]int{{1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			var threads []picture.Thread
			for i, s := range tt.stacks {
				threads = append(threads, picture.Thread{LWP: i + 1, UserStack: s})
			}
			got := Merge(threads)
			if !slices.EqualFunc(got, tt.want, func(s picture.MergedStack, want []int) bool {
				return s.Count == len(want) && slices.Equal(s.Threads, want)
			}) {
				t.Errorf("%+v, want the threads %v", got, tt.want)
			}
		})
	}
}

// TestMergedFrames: a merged frame has what all its threads have, and no more.
func TestMergedFrames(t *testing.T) {
	same := Merge([]picture.Thread{{LWP: 1, UserStack: []picture.Frame{frameAt(0x11, 0x10)}},
		{LWP: 2, UserStack: []picture.Frame{frameAt(0x11, 0x10)}}})
	if f := same[0].Frames[0]; f.PC == nil || *f.PC != 0x11 || *f.Entry != 0x10 {
		t.Errorf("at one instruction: %+v", f)
	}
	apart := []picture.Thread{{LWP: 1, UserStack: []picture.Frame{frameAt(0x11, 0x10)}},
		{LWP: 2, UserStack: []picture.Frame{frameAt(0x12, 0x10)}}}
	merged := Merge(apart)
	if f := merged[0].Frames[0]; f.PC != nil || *f.Entry != 0x10 {
		t.Errorf("at two instructions: %+v", f)
	}
	inLibrary := Merge([]picture.Thread{{LWP: 1, UserStack: []picture.Frame{library(0x11)}},
		{LWP: 2, UserStack: []picture.Frame{library(0x12)}}})
	if f := inLibrary[0].Frames[0]; f.PC != nil || f.Offset != 0 || f.Module != "libm.so.6" {
		t.Errorf("in a library: %+v", f)
	}
	nearFirst := Merge([]picture.Thread{{LWP: 1, UserStack: []picture.Frame{near("f", 2)}},
		{LWP: 2, UserStack: []picture.Frame{line("f", 3)}}})
	if f := nearFirst[0].Frames[0]; f.Near || f.Line != 3 {
		t.Errorf("a line, and one near it: %+v", f)
	}
	if apart[0].UserStack[0].PC == nil {
		t.Error("merging changed the thread's own stack")
	}
}
