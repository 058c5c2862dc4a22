package dap

import (
	"fmt"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// lockTypes are parts of the names of types of locks: other objects may start at the same address.
var lockTypes = []string{"lock_t", "mutex"}

// lockTexts describes the locks that threads wait for, by the addresses of their variables.
func (v *view) lockTexts() map[picture.Hex]string {
	out := map[picture.Hex]string{}
	if v.pic.Facts == nil {
		return out
	}
	locks := map[picture.ID]*picture.Lock{}
	for i := range v.pic.Facts.Locks {
		locks[v.pic.Facts.Locks[i].ID] = &v.pic.Facts.Locks[i]
	}
	waiting := map[picture.ID]int{}
	for _, w := range v.pic.Facts.Waits {
		waiting[w.Lock]++
	}
	for _, w := range v.pic.Facts.Waits {
		l := locks[w.Lock]
		if l == nil {
			continue
		}
		text := v.holderText(l) + fmt.Sprintf("; %d wait", waiting[w.Lock])
		for _, at := range []*picture.Hex{w.Variable, w.Address} {
			if at != nil {
				out[*at] = text
			}
		}
	}
	return out
}

// holderText describes the holder of a lock.
func (v *view) holderText(l *picture.Lock) string {
	switch {
	case l.InvalidReason != "":
		return "no lock: " + l.InvalidReason
	case l.Owner != 0:
		return "held by " + v.shortName(l.Owner) + acquiredText(l.OwnerAt)
	case len(l.Holders) > 0:
		h := l.Holders[0]
		text := "held by " + v.shortName(h.Thread) + acquiredText(h.AcquiredAt)
		if h.Certainty != "" && h.Certainty != picture.Certain {
			text += fmt.Sprintf(" (%s)", h.Certainty)
		}
		return text
	case l.Held:
		return "held"
	}
	return "its holder is not known"
}

// acquiredText describes the place at which a lock was acquired; it returns "" if that is unknown.
func acquiredText(at *picture.Frame) string {
	if at == nil {
		return ""
	}
	return ", acquired in " + frameText(*at)
}

// shortName returns the number of a thread in its team, or its LWP.
func (v *view) shortName(lwp int) string {
	if t := v.lwps[lwp]; t != nil && t.ThreadNum != nil {
		return fmt.Sprintf("thread %d", *t.ThreadNum)
	}
	return fmt.Sprintf("LWP %d", lwp)
}

// explainLocks sets the texts of locks in values of a frame to their meaning; their members remain.
func explainLocks(list []picture.Value, texts map[picture.Hex]string) {
	for i := range list {
		v := &list[i]
		if v.Address != nil && texts[*v.Address] != "" && v.Missing == "" && isLock(v.Type) {
			v.Text = texts[*v.Address]
		}
		explainLocks(v.Parts, texts)
	}
}

// isLock reports whether a type is that of a lock, and no pointer to one.
func isLock(typ string) bool {
	for _, name := range lockTypes {
		if strings.Contains(typ, name) && !strings.ContainsAny(typ, "*[&") {
			return true
		}
	}
	return false
}
