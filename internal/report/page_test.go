package report

import (
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/web"
)

// TestPageStart holds what is known of a page without package web against that.
func TestPageStart(t *testing.T) {
	if !strings.HasPrefix(web.Start, pageStart) {
		t.Errorf("a page begins with %q, not with %q", web.Start, pageStart)
	}
}
