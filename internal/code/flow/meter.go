package flow

import (
	"errors"
	"fmt"
)

// Meter counts work. An error of it says that there has been enough: the answers
// then are those of code of which nothing is known.
type Meter interface {
	// Spend counts work in bytes of code that are looked at, each time anew.
	Spend(work int) error
}

// ErrSpent says that the Meter of a Config had enough.
var ErrSpent = errors.New("not looked at, as the bound of work is reached")

// spend counts work.
func (f *Function) spend(work int) error {
	if f.meter == nil {
		return nil
	}
	if err := f.meter.Spend(work); err != nil {
		return fmt.Errorf("%w: %w", ErrSpent, err)
	}
	return nil
}
