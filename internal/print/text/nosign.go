package text

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// sleeping lists the threads of OpenMP that only wait for time to pass.
func sleeping(ts []picture.Thread) (out []picture.Thread) {
	for _, t := range ts {
		if t.Runtime != "" && t.State != nil && t.State.Name == picture.StateSleep && !t.Hidden {
			out = append(out, t)
		}
	}
	return out
}

// unsuspicious is how much may be said of threads of which some are at work: that one holds a lock which
// others wait for is no sign that all is well.
func unsuspicious(ts []picture.Thread) string {
	if slices.ContainsFunc(ts, waitsForHolder) {
		return "no deadlock was found"
	}
	return "no sign of a hang"
}

// waitsForHolder reports whether a thread waits for what another one holds.
func waitsForHolder(t picture.Thread) bool {
	return t.State != nil && t.State.Name.Waits() && (t.WaitKind.Exclusive() || t.State.Name == picture.StateMutex)
}

// someSleep says what the threads of a program do of which some sleep. Time ends that, and a program that sleeps
// is healthy; if others wait for a thread that sleeps, that is not known.
func someSleep(sleep []picture.Thread, busy int, waits []string) string {
	all := len(sleep) + busy + len(waits)
	how := sleepList(sleep)
	switch {
	case len(waits) > 0 && busy > 0:
		return fmt.Sprintf("no deadlock was found: %s at work, %s %s; the others wait: %s", someAre(busy, all),
			fewSleep(len(sleep)), how, waitList(waits))
	case len(waits) > 0:
		return fmt.Sprintf("no deadlock was found: %d of %s %s; the others wait: %s", len(sleep),
			phrase.Count(all, "thread"), sleepVerb(len(sleep))+" "+how, waitList(waits))
	case busy > 0:
		return fmt.Sprintf("no sign of a hang: %s at work, %s %s", someAre(busy, all), fewSleep(len(sleep)), how)
	case all == 1:
		return "no sign of a hang: its one thread sleeps " + how
	}
	return fmt.Sprintf("no sign of a hang: all %d threads sleep %s", all, how)
}

func sleepVerb(n int) string {
	if n == 1 {
		return "sleeps"
	}
	return "sleep"
}

func fewSleep(n int) string { return fmt.Sprintf("%d %s", n, sleepVerb(n)) }

// sleepList is by which calls threads sleep: with the time that is left, if one does.
func sleepList(ts []picture.Thread) string {
	if len(ts) == 1 {
		return "(" + phrase.Sleeping(cmp.Or(ts[0].WaitName, "sleep"), ts[0].Sleep) + ")"
	}
	var names []string
	for _, t := range ts {
		if name := cmp.Or(t.WaitName, "sleep"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "(" + phrase.Some(names, maxWaits, len(names)) + ")"
}
