package text

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// rowsShown bounds the rows of statistics, unless all are requested.
const rowsShown = 40

// Statistics prints the statistics of a recording, and the lock orders that can end in a deadlock.
func (p *Events) Statistics(s *picture.Statistics) {
	p.printf("%s of %s in %v", phrase.Count(s.Events, "event"), phrase.Count(s.Threads, "thread"),
		roundDuration(time.Duration(s.Nanoseconds)))
	t := table{head: []string{"of time", "construct", "at", "count", "total", "mean", "longest", "notes"}}
	for i, r := range constructsFirst(s.Rows) {
		if i == rowsShown && !p.all {
			break
		}
		total := time.Duration(r.Total)
		t.add(shareText(r, s), phrase.Printable(r.Text), placeText(r.Frame), fmt.Sprint(r.Count),
			roundDuration(total).String(),
			roundDuration(total/time.Duration(max(r.Count, 1))).String(),
			roundDuration(time.Duration(r.Longest)).String(), statisticNotes(r))
	}
	p.printTable(&t)
	if more := len(s.Rows) - rowsShown; more > 0 && !p.all {
		p.printf("and %d more, which took less: --all", more)
	}
	if s.Unpaired > 0 {
		p.printLine(p.dim(fmt.Sprintf("%d events have no counterpart: it is older, or the runtime leaves it out",
			s.Unpaired)))
	}
	p.printTaskCost(s.Rows)
	p.printLockOrders(s.LockOrders)
}

// constructsFirst returns the rows with those of initial and implicit tasks last, whose time is that of all else, and
// with that of idle threads.
func constructsFirst(rows []picture.Statistic) (out []*picture.Statistic) {
	isWhole := func(r *picture.Statistic) bool {
		return r.Text == "initial task" || r.Text == "implicit task" || r.Text == "idle"
	}
	for _, whole := range []bool{false, true} {
		for i := range rows {
			if isWhole(&rows[i]) == whole {
				out = append(out, &rows[i])
			}
		}
	}
	return out
}

// shareText returns the part of the time of all threads that a row takes: "12.5 %"; "" if the time is unknown.
// Constructs that are not over last beyond the newest event.
func shareText(r *picture.Statistic, s *picture.Statistics) string {
	time := s.Nanoseconds
	for i := range s.Rows {
		time = max(time, s.Rows[i].Longest)
	}
	all := float64(time) * float64(s.Threads)
	if all <= 0 {
		return ""
	}
	return fmt.Sprintf("%5.1f %%", 100*float64(r.Total)/all)
}

// printTaskCost prints the cost of recording small tasks, if that is much of the time that they take.
func (p *Events) printTaskCost(rows []picture.Statistic) {
	count, total := 0, time.Duration(0)
	for i := range rows {
		if rows[i].Text == taskText {
			count, total = count+rows[i].Count, total+time.Duration(rows[i].Total)
		}
	}
	cost := time.Duration(count) * taskCost
	if count < manyTasks || float64(cost) <= muchCost*float64(total) {
		return
	}
	p.printf("%d tasks take %v on the mean, and it costs some %v to record one: `ompd-inspect record "+
		"--events default,-tasks` leaves them out", count, roundDuration(total/time.Duration(count)), taskCost)
}

// taskText is the text of the rows of explicit tasks. To record a task costs taskCost: for its creation, start and end,
// and for the wait for it (docs/guide/recorder.md). The cost is printed if it is more than muchCost of the time of
// manyTasks or more tasks, that is, if they take less than 1 µs on the mean.
const (
	taskText  = "task"
	taskCost  = 50 * time.Nanosecond
	muchCost  = 0.05
	manyTasks = 256
)

// printLockOrders prints lock orders that can end in a deadlock.
func (p *Events) printLockOrders(orders []picture.LockOrder) {
	for i := range orders {
		if i == rowsShown && !p.all {
			p.printf("and %d more: --all", len(orders)-i)
			return
		}
		text, steps := "had these come at once, the threads would wait for each other for ever", orders[i].Steps
		if !slices.ContainsFunc(steps, func(s picture.LockStep) bool { return !s.Waits }) {
			text = "by the last events, the threads wait for each other"
		}
		p.printLine(p.red("LOCK ORDER") + ": " + text)
		for _, s := range steps {
			then := "then"
			if s.Waits {
				then = "waits for"
			}
			p.printf("  LWP %d acquired %s, %s, and %s %s, %s", s.Thread, phrase.Printable(s.First.Text),
				placeText(s.First.Frame), then, phrase.Printable(s.Second.Text), placeText(s.Second.Frame))
		}
		p.printLine("  fix: acquire the locks in the same order everywhere")
	}
}

// statisticNotes returns the other facts of a row than its times.
func statisticNotes(r *picture.Statistic) string {
	var s []string
	add := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	if r.Barriers > 0 {
		add("imbalance %v", roundDuration(time.Duration(r.Imbalance)))
		add("LWP %d last at %d of %d", r.Last, r.LastCount, r.Barriers)
	}
	if r.Contended > 0 {
		add("%d waited %v", r.Contended, roundDuration(time.Duration(r.Waited)))
		if r.Holder != nil {
			add("most for %s", placeText(r.Holder))
		}
	}
	if r.Open > 0 {
		add("%d not over", r.Open)
	}
	return strings.Join(s, "; ")
}

// roundDuration rounds a duration to three digits.
func roundDuration(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for v := d; v >= 1000 || v <= -1000; v /= 10 {
		unit *= 10
	}
	return d.Round(unit)
}
