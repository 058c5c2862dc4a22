package inspect

import "github.com/ompd-inspect/ompd-inspect/picture"

func stateSource(tracked bool) picture.StateSource {
	if tracked {
		return picture.StateTracked
	}
	return picture.StateInferred
}
