package flow

import (
	"errors"
	"fmt"
)

// Meter counts work. It returns an error if the budget is exhausted: the answers are then those for unknown
// code.
type Meter interface {
	// Spend counts work in bytes of code, each time that they are visited.
	Spend(work int) error
}

// ErrSpent means that the budget of the Meter in a Config is exhausted.
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
