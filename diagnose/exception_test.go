package diagnose_test

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/diagnose"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// escaped is a program that an exception in thread 1 has ended.
func escaped(e picture.Exception) func(scene) {
	return func(s scene) {
		s.Facts.Abort = &picture.Abort{Thread: 1, Component: "the C++ library", Call: "__cxa_throw", Exception: &e}
	}
}

// TestException checks the boundary that an uncaught exception would have left, and ends that are no exception.
func TestException(t *testing.T) {
	at := func(name string, line int) *picture.Frame {
		return &picture.Frame{Kind: picture.FrameUser, Function: name, File: "/src/a.cc", Line: line}
	}
	thrown := picture.Exception{Type: "std::runtime_error", What: "row 7", WhatSource: "what()",
		Thrown: picture.Thrown{Frame: at("pivot", 7), Source: "__cxa_throw is on the stack"}}
	with := func(change func(*picture.Exception)) func(scene) {
		e := thrown
		change(&e)
		return escaped(e)
	}
	died := func(c picture.Certainty, fix, says string) []want {
		return []want{{picture.VerdictCrash, picture.SeverityCrash, c, []int{1}, fix, says}}
	}
	left := func(name string) func(*picture.Exception) {
		return func(e *picture.Exception) { e.Boundary.Frame, e.Boundary.Source = at(name, 9), "its tables say so" }
	}
	ended := func(call, function string) func(scene) {
		return func(s scene) {
			s.Facts.Abort = &picture.Abort{Thread: 1, Component: "the C++ library", Call: call, Caller: *at(function,
				3)}
		}
	}
	check(t, []scenario{
		{"a region", 2, with(func(e *picture.Exception) { left("work")(e); e.Boundary.Region = "r" }),
			died(picture.Certain, "inside of the region", "thrown in pivot a.cc:7, left the parallel region")},
		{"a task", 2, func(s scene) {
			s.task("t", "", picture.TaskRunning, 1)
			with(func(e *picture.Exception) { left("work")(e); e.Boundary.Region, e.Boundary.Task = "r", "t" })(s)
		}, died(picture.Certain, "inside of the task", "left the explicit task")},
		{"a function", 2, with(left("quiet")),
			died(picture.Certain, "noexcept", "left quiet a.cc:9, which is noexcept")},
		{"a construct", 2, with(func(e *picture.Exception) { left("loop")(e); e.Boundary.Construct = true }),
			died(picture.Certain, "inside of the construct", "a construct in loop a.cc:9, or that function")},
		{"unsure", 2, with(func(e *picture.Exception) {
			left("work")(e)
			e.Boundary.Region,
				e.Boundary.Uncertain = "r", true
		}),
			died(picture.Likely, "region", "left the parallel region")},
		{"nothing stops it", 1, with(func(e *picture.Exception) { e.Boundary.Uncaught = true }),
			died(picture.Certain, "catch it", "left all functions on the stack")},
		{"what stops it is not known", 1, escaped(thrown), died(picture.Certain, "catch it", "which one is not known")},
		{"of another language", 1, escaped(picture.Exception{Language: "MOZ RUST",
			Thrown: picture.Thrown{Unwound: at("call", 4)}, Boundary: picture.Boundary{Uncaught: true}}),
			died(picture.Certain, "catch it", "another language (MOZ RUST), which came through call a.cc:4, left")},
		{"thrown again", 1, with(func(e *picture.Exception) { e.Thrown.Rethrown, e.Boundary.Uncaught = true, true }),
			died(picture.Certain, "catch it", "thrown again in pivot a.cc:7")},
		{"std::terminate", 1, ended("std::terminate()", "give_up"),
			crash("called by std::terminate() in give_up a.cc:3")},
		{"pure virtual", 1, ended("__cxa_pure_virtual", "use"), crash("constructed or destroyed")},
		{"a thread that was not joined", 1, ended("std::thread::~thread", "use"), crash("neither joined nor detached")},
		{"throw of nothing", 1, ended("__cxa_rethrow", "use"), crash("where no exception is handled")},
		{"pthread_exit", 1, ended("pthread_exit", "use"),
			died(picture.Certain, "by the end of the region", "pthread_cancel")},
	})
}

// TestExceptionTitles checks that the heading names the construct that an exception left.
func TestExceptionTitles(t *testing.T) {
	in := &picture.Frame{Function: "work"}
	for _, c := range []struct {
		title string
		left  picture.Boundary
	}{
		{"EXCEPTION LEFT A PARALLEL REGION", picture.Boundary{Region: "r", Frame: in}},
		{"EXCEPTION LEFT A TASK", picture.Boundary{Region: "r", Task: "t", Frame: in}},
		{"CRASH", picture.Boundary{Frame: in}},
		{"CRASH", picture.Boundary{Frame: in, Construct: true}},
		{"CRASH", picture.Boundary{Uncaught: true}},
	} {
		a := &picture.Abort{Thread: 1, Component: "the C++ library", Exception: &picture.Exception{Boundary: c.left}}
		vs := diagnose.Run(&picture.Picture{Facts: &picture.Facts{Abort: a}})
		if len(vs) != 1 || diagnose.Heading(&vs[0]) != c.title {
			t.Errorf("%+v, want the heading %s", vs, c.title)
		}
	}
}
