package picture

import (
	"fmt"
	"strconv"
	"strings"
)

// Hex is an address of the target, in JSON a string "0x…"; an absent one is missing, and never 0.
//
//contract:schema {"type": "string", "pattern": "^0x[0-9a-f]+$", "not": {"const": "0x0"}}
type Hex uint64

// Address returns v as an address of a picture; nil for 0, because an absent address is missing.
func Address(v uint64) *Hex {
	if v == 0 {
		return nil
	}
	h := Hex(v)
	return &h
}

// String returns the form "0x…".
func (h Hex) String() string { return "0x" + strconv.FormatUint(uint64(h), 16) }

// MarshalText returns the form "0x…".
func (h Hex) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the form "0x…".
func (h *Hex) UnmarshalText(b []byte) error {
	digits, ok := strings.CutPrefix(string(b), "0x")
	if !ok {
		return fmt.Errorf("address %q does not start with 0x", b)
	}
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return fmt.Errorf("address %q: %w", b, err)
	}
	*h = Hex(v)
	return nil
}
