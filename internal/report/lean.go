//go:build lean

package report

import (
	"errors"
	"io"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// page is not there in a lean build, which leaves pages to the whole program.
func page(io.Writer, *picture.Picture, Options) error { return errors.ErrUnsupported }
