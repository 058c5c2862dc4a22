package generated

import _ "embed"

// Sources shared by all generated programs.
var (
	//go:embed program/gen.c
	genC string
	//go:embed program/gen.h
	genH string
	//go:embed program/async.cc
	asyncCC string
)
