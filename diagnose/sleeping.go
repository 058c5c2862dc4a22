package diagnose

import (
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// A sleepingClass is a class of C++'s standard library whose members sleep on a word.
type sleepingClass struct {
	header  string   // that has them; empty if it has others, too
	classes []string // beginnings of the names of member functions
	what    string
	fix     string
}

// sleepingClasses are those that GNU's and LLVM's libraries have.
var sleepingClasses = [...]sleepingClass{
	{
		"latch", []string{"std::latch::", "std::__1::latch::"}, "a std::latch",
		"count the latch down as often as it was initialized for: a team may have fewer threads than were requested",
	},
	{
		"barrier", []string{"std::barrier<", "std::__1::barrier<"}, "a std::barrier",
		"initialize the barrier for as many threads as come to it: a team may have fewer than were requested, " +
			"and every one of them must reach it, or leave it by arrive_and_drop",
	},
	{
		"semaphore", []string{"std::counting_semaphore<", "std::__1::counting_semaphore<"}, "a std::counting_semaphore",
		"release the semaphore once for each time that it is acquired, on every path",
	},
	{
		"", []string{
			"std::future<", "std::shared_future<", "std::__basic_future<", "std::__future_base::",
			"std::__1::future<", "std::__1::shared_future<",
		}, "a std::future",
		"give each promise a value or an exception (set_value, set_exception) on every path, before its thread waits " +
			"for another one",
	},
	{
		"", []string{
			"std::atomic<", "std::atomic_flag::", "std::__atomic_base<", "std::atomic_ref<", "std::__1::atomic<",
		}, "a std::atomic",
		"store the value before notify_one or notify_all, and notify all who wait",
	},
}

// names reports whether a function is of a class, or, where the class does nothing else in a header, of its code for
// one of these: optimized code may have no frame of the class' own.
func (s *sleepingClass) names(function, class string) bool {
	return strings.HasPrefix(function, class) || s.header != "" && strings.Contains(function, "<"+class)
}

// sleeperOf is the class whose member function code of the program called to sleep, if the frames
// show one.
func sleeperOf(fs []picture.Frame) *sleepingClass {
	for _, f := range slices.Backward(fs[:max(picture.InnermostUser(fs), 0)]) {
		for i, s := range sleepingClasses {
			in := s.header != "" && base(f.File) == s.header && strings.Contains(f.File, "/c++/")
			if in || slices.ContainsFunc(s.classes, func(c string) bool { return s.names(f.Function, c) }) {
				return &sleepingClasses[i]
			}
		}
	}
	return nil
}
