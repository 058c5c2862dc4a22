package libgomp

import (
	"bytes"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// recognize reports whether a module that defines these symbols contains GNU libgomp, and returns
// its release as far as they show it.
func recognize(defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	t, mod := rtl.SymbolsOnly(defines, path)
	if !isRuntime(t, mod) {
		return rtl.Kind{}, false
	}
	id := identify(t, mod, &fingerprint{})
	return rtl.Kind{Family: id.Family, Name: id.Name, Version: id.Version}, true
}

// recognizeStripped reports whether an executable without symbols, whose constant data contains
// these texts, has GNU libgomp linked in: the prefix of its errors and a setting of its own are in
// object files that every such program has.
func recognizeStripped(contains func(text string) bool) (rtl.Kind, bool) {
	if !contains(withNUL("\nlibgomp: ")) || !contains(withNUL("GOMP_SPINCOUNT")) {
		return rtl.Kind{}, false
	}
	return rtl.Kind{Family: family, Name: fullName}, true
}

// maxImage bounds how much of an executable is searched for the runtime's texts.
const maxImage = 256 << 20

// linkedIn reports whether the file of a stripped executable has the runtime's texts.
func linkedIn(img callbacks.Image) bool {
	_, ok := recognizeStripped(func(text string) bool { return holds(img, text) })
	return ok
}

// holds reports whether a file has a text.
func holds(img callbacks.Image, text string) bool {
	if whole, ok := img.(interface{ Bytes() []byte }); ok {
		return bytes.Contains(whole.Bytes(), []byte(text))
	}
	const chunk = 64 << 10
	buf := make([]byte, chunk)
	for off := int64(0); off < min(img.Size(), maxImage); off += int64(chunk - len(text)) {
		n, err := img.ReadAt(buf, off)
		if bytes.Contains(buf[:n], []byte(text)) {
			return true
		}
		if err != nil {
			break
		}
	}
	return false
}

// withNUL returns text with a NUL. It is built at run time: otherwise this program would find
// the constant in itself.
func withNUL(text string) string { return string(append([]byte(text), 0)) }
