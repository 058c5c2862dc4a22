package omptest

import (
	"hash/fnv"
	"os"
	"strings"
	"testing"
	"time"
)

// Full reports whether tests run on every combination of compiler, optimization and
// release that they know ($OMPD_FULL is set, as by make matrix), or on those that
// differ most.
func Full() bool { return os.Getenv("OMPD_FULL") != "" }

// Quick reports whether tests are those of `make test`, which needs few packages and takes minutes
// ($OMPD_QUICK is set): matrices run a smaller part each day, and what needs other packages is skipped.
func Quick() bool { return !Full() && os.Getenv("OMPD_QUICK") != "" }

// quickTurn is how many times fewer cases of a matrix a quick run has.
const quickTurn = 4

// Today is what the tests of one day run of a list that make matrix runs whole: one
// element, which the date chooses ($OMPD_DATE, as 2006-01-02, if it is set).
func Today[T any](tb testing.TB, all []T) []T {
	tb.Helper()
	if Full() {
		return all
	}
	day := date()
	tb.Logf("chosen by the date: OMPD_DATE=%s", day.Format(time.DateOnly))
	i := dayNumber(day) % len(all)
	return all[i : i+1]
}

// Turn reports whether the date has it that a case of a matrix runs: one in so many, so
// that each comes once in as many days, and in quick runs in some times as many. Which it is
// follows from its names.
func Turn(oneIn int, names ...string) bool {
	if Quick() {
		oneIn *= quickTurn
	}
	return Full() || turn(dayNumber(date()), oneIn, names...)
}

// date is the day whose part of the tests runs: today, or $OMPD_DATE.
func date() time.Time {
	if day, err := time.Parse(time.DateOnly, os.Getenv("OMPD_DATE")); err == nil {
		return day
	}
	return time.Now().UTC()
}

// dayNumber counts days.
func dayNumber(day time.Time) int { return int(day.Unix() / (24 * 60 * 60)) }

// turn is Turn for one day.
func turn(day, oneIn int, names ...string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(names, "\x00")))
	return (int(h.Sum32()>>8)+day)%oneIn == 0 // the lowest bits of similar names are alike
}
