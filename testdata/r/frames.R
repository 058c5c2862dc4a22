# Reports the calls of closures of a known moment, as R itself sees them, and waits there until the end of its input.
# Usage: R -e 'way <- "WAY"; output <- "FILE"; source("frames.R", keep.source = TRUE)'

# writeCalls writes a line "function line" for each call, innermost first: the line is that of the caller.
writeCalls <- function() {
  calls <- sys.calls()
  lines <- character()
  for (call in rev(calls[-length(calls)])) {
    place <- attr(call, "srcref")
    name <- if (is.name(call[[1]]) || is.call(call[[1]])) deparse(call[[1]])[1] else "?"
    if (startsWith(name, "(function") || startsWith(name, "function")) name <- "<anonymous>"
    lines <- c(lines, paste(name, if (is.null(place)) 0 else place[1]))
  }
  writeLines(lines, output)
  cat("READY\n")
}

hold <- function() {
  before <- 1
  writeCalls(); readLines(file("stdin"), 1)
}

compiled <- function(n) {
  total <- 0
  for (i in seq_len(n)) {
    total <- total + i
    hold()
  }
  total
}

interpreted <- function(x) {
  if (x > 0) {
    y <- x + 1
    compiled(
      x
    )
  }
}

lazily <- function(value) {
  "its argument is evaluated here"
  value + 1
}

object <- list(method = function(x) lazily(interpreted(x)))

setGeneric("generic", function(x) standardGeneric("generic"))
setMethod("generic", "numeric", function(x) {
  object$method(x)
})

print.measured <- function(x, ...) {
  generic(unclass(x))
}

ways <- list(
  calls = function() {
    (function(x) {
      print(structure(x, class = "measured"))
    })(1)
  },
  apply = function() {
    base::sapply(1, function(i) do.call("interpreted", list(i)))
  },
  handlers = function() {
    tryCatch(withCallingHandlers({
      stop("raised")
    }, error = function(e) interpreted(1)), error = function(e) NULL)
  },
  evaluated = function() {
    eval(quote(interpreted(1)))
  }
)
if (way != "none") ways[[way]]()
