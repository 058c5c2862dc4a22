package diagnose

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// explainException returns the verdict on a program that an uncaught exception has ended.
func explainException(x *index, lwp int, e *picture.Exception) picture.Verdict {
	v := newVerdict(picture.VerdictCrash, picture.Certain)
	v.Threads, v.Region = []int{lwp}, e.Boundary.Region
	if e.Boundary.Uncertain {
		v.Certainty = picture.Likely
	}
	what := e.Type
	switch {
	case e.Language != "":
		what = "an exception of another language (" + e.Language + ")"
	case what == "":
		what = "an exception"
	}
	from := ""
	switch {
	case e.Thrown.Frame != nil && e.Thrown.Rethrown:
		from = ", thrown again in " + place(*e.Thrown.Frame) + ","
	case e.Thrown.Frame != nil:
		from = ", thrown in " + place(*e.Thrown.Frame) + ","
	case e.Thrown.Unwound != nil:
		from = ", which came through " + place(*e.Thrown.Unwound) + ","
	}
	var left string
	left, v.Fix = explainBoundary(x, e)
	if e.Boundary.Task != "" {
		v.Tasks = []picture.ID{e.Boundary.Task}
	}
	v.Summary = fmt.Sprintf("%s: %s%s left %s", x.threadName(lwp), what, from, left)
	if e.What != "" {
		v.Explanation = fmt.Sprintf("It says: %s. ", e.What)
		v.Evidence = append(v.Evidence, "what it says: "+e.WhatSource)
	}
	v.Explanation += "What a construct of OpenMP throws must be caught in it, by the same thread; else the C++ " +
		"library ends the program."
	if e.Boundary.Region == "" && e.Boundary.Task == "" {
		v.Explanation = fmt.Sprintf("It says: %s.", e.What)
		if e.What == "" {
			v.Explanation = ""
		}
	}
	v.Evidence = append(v.Evidence, exceptionEvidence(e)...)
	return v
}

// exceptionEvidence returns the evidence for the place where an exception was thrown and for its boundary.
func exceptionEvidence(e *picture.Exception) []string {
	var out []string
	if e.Thrown.Source != "" {
		out = append(out, "where it was thrown: "+e.Thrown.Source)
	}
	if len(e.Thrown.Candidates) > 0 {
		var at []string
		for _, f := range e.Thrown.Candidates {
			at = append(at, place(f))
		}
		out = append(out, "such exceptions are thrown in "+strings.Join(at, ", "))
	}
	if e.Boundary.Frame != nil {
		at := place(*e.Boundary.Frame)
		if e.Boundary.Frame.Line != 0 && e.Boundary.Frame.Construct != "" {
			at = "the code of the construct, " + e.Boundary.Frame.Place()
		}
		out = append(out, "it may not leave "+at+": "+e.Boundary.Source)
	}
	return out
}

// explainBoundary names the construct or function that an exception must not leave, and the fix.
func explainBoundary(x *index, e *picture.Exception) (left, fix string) {
	const catch = "catch it inside of %s; keep it in a std::exception_ptr to throw it again behind that"
	switch {
	case e.Boundary.Task != "":
		left = "the explicit task"
		if at := x.taskPlace(e.Boundary.Task); at != "" {
			left += " " + at
		}
		return left, fmt.Sprintf(catch, "the task")
	case e.Boundary.Region != "":
		left = "the parallel region"
		if r := x.regions[e.Boundary.Region]; r != nil && hasLine(r.Function) {
			left += " at " + codePlace(r.Function)
		}
		return left, fmt.Sprintf(catch, "the region")
	case e.Boundary.Frame != nil && e.Boundary.Construct:
		return "a construct in " + place(*e.Boundary.Frame) +
			", or that function, which is noexcept", fmt.Sprintf(catch, "the construct")
	case e.Boundary.Frame != nil:
		return place(*e.Boundary.Frame) + ", which is noexcept, as destructors are",
			"catch it in " + place(*e.Boundary.Frame) + ", or take noexcept away"
	}
	left = "all functions on the stack"
	if !e.Boundary.Uncaught {
		left = "a function that it may not leave; which one is not known"
	}
	return left, "catch it in the construct, the function or the thread in which it is thrown"
}

// explainTerminate completes the verdict on a program that the C++ library has ended without an uncaught exception.
func explainTerminate(x *index, a *picture.Abort, v picture.Verdict) picture.Verdict {
	v.Summary = fmt.Sprintf("%s: the C++ library ended the program, called by %s in %s", x.threadName(a.Thread), a.Call,
		place(a.Caller))
	switch {
	case strings.HasPrefix(a.Call, "std::thread::"):
		v.Explanation = "A std::thread was destroyed, or assigned to, that was neither joined nor detached."
	case strings.HasPrefix(a.Call, "std::terminate"):
		v.Explanation = "The program called std::terminate; no exception was on its way."
	case a.Call == "__cxa_pure_virtual" || a.Call == "__cxa_deleted_virtual":
		v.Explanation = "A virtual function was called that the object's class does not define: the object is " +
			"being constructed or destroyed, or is not there any more."
	case a.Call == "__cxa_rethrow":
		v.Explanation = "It executed `throw;` where no exception is handled: not in a catch block, nor in what one " +
			"calls."
	case a.Call == "pthread_exit" || a.Call == "__clang_call_terminate":
		v.Explanation = "No exception of C++ was on its way: the thread was to end by pthread_exit or " +
			"pthread_cancel, which unwinds its stack as an exception does; a construct of OpenMP, and a noexcept " +
			"function, may not be left by that."
		v.Fix = "let threads of a parallel region end by the end of the region only"
	}
	return v
}

// exceptionTitle returns the heading of a crash by an exception that left a construct, "" for other verdicts.
func exceptionTitle(v *picture.Verdict) string {
	switch {
	case v.Kind != picture.VerdictCrash:
	case len(v.Tasks) > 0:
		return "EXCEPTION LEFT A TASK"
	case v.Region != "":
		return "EXCEPTION LEFT A PARALLEL REGION"
	}
	return ""
}
