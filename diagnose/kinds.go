package diagnose

import (
	"cmp"
	"slices"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// Kind is a kind of verdicts.
type Kind struct {
	Name     picture.VerdictKind
	Title    string           // the heading of such verdicts
	Severity picture.Severity // at worst
	// draw finds such verdicts, and those of the kinds after it that have none of their own.
	draw func(*drawer) []picture.Verdict
}

// Kinds are all kinds of verdicts, in the order in which they are looked for: what one
// finds, a later one may leave out.
func Kinds() []Kind {
	return []Kind{
		{picture.VerdictCrash, "CRASH", picture.SeverityCrash, crashes},
		{picture.VerdictStackOverflow, "STACK OVERFLOW", picture.SeverityCrash, nil},
		{picture.VerdictOverwritten, "MEMORY OVERWRITTEN", picture.SeverityCrash, overwritten},
		{picture.VerdictDoacrossStuck, "DOACROSS STUCK", picture.SeverityHang, doacrossStuck},
		{picture.VerdictDeadlock, "DEADLOCK", picture.SeverityHang, deadlocks},
		{picture.VerdictSelfDeadlock, "SELF-DEADLOCK", picture.SeverityHang, selfDeadlocks},
		{picture.VerdictLockFreed, "FREED LOCK", picture.SeverityHang, freedLocks},
		{picture.VerdictLockOrphaned, "ORPHANED LOCK", picture.SeverityHang, orphans},
		{picture.VerdictNeverWoken, "NEVER WOKEN", picture.SeverityHang, neverWoken},
		{picture.VerdictSpinning, "SPINNING ON A FLAG", picture.SeverityHang, spinning},
		{picture.VerdictIllegalBarrier, "ILLEGAL BARRIER", picture.SeverityHang, illegalBarriers},
		{picture.VerdictTaskStarved, "STARVED TASKS", picture.SeverityHang, starved},
		{picture.VerdictThreadEnded, "ENDED THREAD", picture.SeverityHang, endedMembers},
		{picture.VerdictBarrierMissing, "INCOMPLETE BARRIER", picture.SeverityHang, barriers},
		{picture.VerdictBarrierDivergent, "DIVERGENT BARRIERS", picture.SeverityHang, nil},
		{picture.VerdictBlockedOutside, "BLOCKED OUTSIDE OF OPENMP", picture.SeverityInfo, blockedOutside},
		{picture.VerdictLockHandedOver, "LOCK HANDED OVER", picture.SeverityInfo, handedOver},
		{picture.VerdictOneThread, "FEWER THREADS THAN REQUESTED", picture.SeverityWarning, fewer},
		{picture.VerdictTwoRuntimes, "TWO OPENMP RUNTIMES", picture.SeverityWarning, runtimesLoaded},
		{picture.VerdictForkChild, "FORKED CHILD", picture.SeverityHang, forked},
		{picture.VerdictSharedProcessor, "SPINNING ON A SHARED CPU", picture.SeverityWarning, sharedProcessors},
		{picture.VerdictOversubscribed, "OVERSUBSCRIBED", picture.SeverityWarning, oversubscribed},
		{picture.VerdictLockOrder, "LOCK ORDER", picture.SeverityWarning, lockOrders},
		{picture.VerdictContention, "CONTENTION", picture.SeverityWarning, contentions},
		{picture.VerdictImbalance, "IMBALANCE", picture.SeverityWarning, imbalances},
		{picture.VerdictTinyTasks, "TINY TASKS", picture.SeverityWarning, tinyTasks},
	}
}

// Names returns the names of the kinds, in the same order.
func Names() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, string(k.Name))
	}
	return out
}

// Heading returns the heading of a verdict: that of its kind, or one that says more.
func Heading(v *picture.Verdict) string {
	return cmp.Or(exceptionTitle(v), sizeTitle(v), Title(v.Kind))
}

// Title returns the heading of verdicts of a kind, empty for one that is not known.
func Title(name picture.VerdictKind) string {
	kinds := Kinds()
	if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return kinds[i].Title
	}
	return ""
}
