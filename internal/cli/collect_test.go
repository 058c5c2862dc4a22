package cli

import "testing"

// TestGrowth checks that a collected heap may grow to the same size again, and that a larger heap may grow by
// half.
func TestGrowth(t *testing.T) {
	for _, tt := range []struct {
		used uint64
		want int
	}{
		{0, 850}, {2 << 20, 850}, {17 << 20, 100}, {28 << 20, 50}, {34 << 20, 50}, {1 << 40, 50},
	} {
		if got := growth(tt.used); got != tt.want {
			t.Errorf("a heap of %d MiB may grow by %d %%, want %d", tt.used>>20, got, tt.want)
		}
	}
}
