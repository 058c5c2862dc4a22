package diagnose

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// onceFix and onceTeamFix say what to change where threads wait for a function that is executed once.
const (
	onceFix = "a function that is executed once must not come to a call for the same flag again: let it call what " +
		"it needs directly, or make a function of that part which both use"
	onceTeamFix = "let a function that is executed once wait for no other thread, at a barrier or for a lock: make " +
		"the call before the parallel region, and with no lock that the function needs"
)

// tellOnce says of a thread that is in a function which is executed once that it waits for the end of that.
func tellOnce(d *drawer, v *picture.Verdict, what string) {
	step := &v.Cycle[0]
	v.Summary = fmt.Sprintf("%s waits for %s, which it is in itself", d.who(step.Thread), what)
	v.Explanation = fmt.Sprintf("%s is in %s%s, and came to a call for the same flag again%s: it waits until that "+
		"function has returned, which only this thread could do.", d.who(step.Thread), what,
		heldIn(step, ", called in "), inPlace(d.index, step.Thread))
}
