package omptest

import (
	"hash/fnv"
	"os"
	"strings"
	"testing"
	"time"
)

// Full reports whether tests run on every known combination of compiler, optimization and release ($OMPD_FULL is
// set, as by make matrix), or only on those that differ most.
func Full() bool { return os.Getenv("OMPD_FULL") != "" }

// Quick reports whether this is a run of `make test`, which needs few packages and takes minutes ($OMPD_QUICK is
// set): matrices run a smaller part each day, and tests that need other packages are skipped.
func Quick() bool { return !Full() && os.Getenv("OMPD_QUICK") != "" }

// quickTurn is the factor by which a quick run has fewer cases of a matrix.
const quickTurn = 10

// Today returns the part of a list that runs on one day, one element that the date chooses ($OMPD_DATE, as
// 2006-01-02, if it is set). make matrix runs the whole list.
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

// Turn reports whether a case of a matrix runs today: one in oneIn, so that each comes once in as many days, or
// once in quickTurn times as many in quick runs. The names determine the day.
func Turn(oneIn int, names ...string) bool {
	if Quick() {
		oneIn *= quickTurn
	}
	return Full() || turn(dayNumber(date()), oneIn, names...)
}

// date returns the day that selects the tests: today, or $OMPD_DATE.
func date() time.Time {
	if day, err := time.Parse(time.DateOnly, os.Getenv("OMPD_DATE")); err == nil {
		return day
	}
	return time.Now().UTC()
}

// Day returns the number of the day that selects the tests.
func Day() int { return dayNumber(date()) }

// dayNumber returns the number of a day.
func dayNumber(day time.Time) int { return int(day.Unix() / (24 * 60 * 60)) }

// turn is Turn for one day.
func turn(day, oneIn int, names ...string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(names, "\x00")))
	return (int(h.Sum32()>>8)+day)%oneIn == 0 // the lowest bits of similar names are alike
}
