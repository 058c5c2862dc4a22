package rtl

import "iter"

// Yield yields the handles of the objects that a reader has found, then its errors, each with a zero handle.
func Yield[T, H any](found []T, handle func(T) H, errs []error) iter.Seq2[H, error] {
	return func(yield func(H, error) bool) {
		for _, f := range found {
			if !yield(handle(f), nil) {
				return
			}
		}
		for _, err := range errs {
			if !yield(*new(H), err) {
				return
			}
		}
	}
}
