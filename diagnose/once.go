package diagnose

import (
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// tellOnce says of a thread that is in a function which is executed once that it waits for the end of that.
func tellOnce(d *drawer, v *picture.Verdict, what string) {
	step := &v.Cycle[0]
	v.Summary = fmt.Sprintf("%s waits for %s, which it is in itself", d.who(step.Thread), what)
	v.Explanation = fmt.Sprintf("%s is in %s%s, and came to a call for the same flag again%s: it waits until that "+
		"function has returned, which only this thread could do.", d.who(step.Thread), what,
		heldIn(step, ", called in "), inPlace(d.index, step.Thread))
}
