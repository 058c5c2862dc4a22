package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// oneHolder returns the thread that holds a lock, if the code shows one and no second one with the same certainty.
func oneHolder(hs []picture.Holder) (picture.Holder, bool) {
	if len(hs) == 0 || hs[0].Certainty == picture.Possible {
		return picture.Holder{}, false
	}
	return hs[0], len(hs) == 1 || hs[1].Certainty != hs[0].Certainty
}

// sureHolders returns the certain and likely holders.
func sureHolders(hs []picture.Holder) []picture.Holder {
	return slices.DeleteFunc(slices.Clone(hs), func(h picture.Holder) bool { return h.Certainty == picture.Possible })
}

// holderOf returns the entry of a thread among the holders of a lock, or nil.
func holderOf(hs []picture.Holder, lwp int) *picture.Holder {
	i := slices.IndexFunc(hs, func(h picture.Holder) bool { return h.Thread == lwp })
	if i < 0 {
		return nil
	}
	return &hs[i]
}

// holderOfInvalid returns the thread that holds a lock that no longer exists; 0 if no thread does, as the lock was
// destroyed, or as no stack shows a holder. It is unknown if a thread may hold the lock.
func (x *index) holderOfInvalid(w *picture.Wait, l *picture.Lock) (lwp int, known bool) {
	if l.Destroyed || l.Owner != 0 {
		return l.Owner, true
	}
	if h, ok := oneHolder(l.Holders); ok {
		return h.Thread, true
	}
	return 0, len(x.otherHolders(w, l)) == 0 && x.facts.StacksComplete
}

// otherHolders returns the threads that may hold the lock that w waits for, and do not wait for it themselves.
func (x *index) otherHolders(w *picture.Wait, l *picture.Lock) []picture.Holder {
	waiting := x.waitersFor(w)
	return slices.DeleteFunc(slices.Clone(l.Holders),
		func(h picture.Holder) bool { return slices.Contains(waiting, h.Thread) })
}

// leakSentence returns the sentence on code that leaves a lock without a release; "" if no such code is known.
func leakSentence(l *picture.Lock, lock string) string {
	at := leakPlaces(l)
	if at == "" {
		return ""
	}
	if _, perhaps := namedLeaks(l); perhaps {
		return fmt.Sprintf(" Some code that acquires %s may go on without releasing it%s.", lock, at)
	}
	return fmt.Sprintf(" Some code that acquires %s goes on without releasing it%s.", lock, at)
}

// maxLeaks bounds the places that a verdict names.
const maxLeaks = 2

// onlyFailedChecks reports whether a lock is left by failed checks alone, if at all. They are rare: any other
// explanation of a wait is better.
func onlyFailedChecks(l *picture.Lock) bool {
	return !slices.ContainsFunc(l.KnownLeaks(), func(w picture.Leak) bool { return !w.FailedCheck })
}

// namedLeaks returns the leaks that a verdict names: failed checks only if there are no others. perhaps is set if the
// code shows none of them, as unknown functions must have thrown.
func namedLeaks(l *picture.Lock) (named []picture.Leak, perhaps bool) {
	named = slices.DeleteFunc(slices.Clone(l.Leaks), func(w picture.Leak) bool {
		return w.FailedCheck && !w.UnknownCallee
	})
	if len(named) == 0 {
		named = l.Leaks
	}
	named = named[:min(len(named), maxLeaks)]
	return named, allOf(named, func(w picture.Leak) bool { return w.UnknownCallee })
}

// leakPlaces names the first places at which the code that acquires a lock leaves without a release; "" if no such
// place is known.
func leakPlaces(l *picture.Lock) string {
	var at []string
	named, perhaps := namedLeaks(l)
	for _, w := range named {
		w.Frame.Function = phrase.ShortName(phrase.PlainName(w.Frame.Function))
		text := place(w.Frame)
		switch {
		case w.UnknownCallee:
			text = fmt.Sprintf("%s out of the call at %s, which executes unknown code through a pointer", anException,
				text)
		case w.FailedCheck:
			text = fmt.Sprintf("%s out of the call at %s, where the code shows only a failed check (%s)", anException,
				text, exitName(w.ExitCall))
		case w.ExitCall != "":
			text = fmt.Sprintf("%s (%s) out of the call at %s", exitKind(w.ExitCall), exitName(w.ExitCall), text)
		}
		at = append(at, text)
	}
	if len(at) == 0 {
		return ""
	}
	by := ": by "
	if perhaps {
		by = ": perhaps by "
	}
	return by + strings.Join(at, ", or by ")
}

// leftByException reports whether an exception leaves the code that acquires a lock.
func leftByException(l *picture.Lock) bool {
	named, _ := namedLeaks(l)
	return slices.ContainsFunc(named, func(w picture.Leak) bool {
		return w.UnknownCallee || w.ExitCall != "" && exitKind(w.ExitCall) == anException
	})
}

const anException = "an exception"

// exitKind returns the kind of the way by which a call of a function leaves its caller without a return.
func exitKind(function string) string {
	switch {
	case strings.HasSuffix(function, "_exit"): // pthread_exit, thrd_exit
		return "the end of the thread"
	case strings.Contains(function, "longjmp"):
		return "a jump"
	}
	return anException
}

// exitName returns the name of a function by which a call leaves its caller, without its arguments.
func exitName(function string) string {
	name, _, _ := strings.Cut(function, "(")
	return name
}
