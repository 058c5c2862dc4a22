# Calls libraries with OpenMP for ever, in byte code.
# Usage: R -e 'way <- "WAY"; source("regions.R", keep.source = TRUE)'

multiplied <- function(m) {
  while (TRUE) {
    product <- crossprod(m)
    m <- product / max(product)
  }
}

sorted <- function(table) {
  while (TRUE) {
    order <- data.table:::forderv(table, by = "id")
    stopifnot(length(order) == nrow(table))
  }
}

cat("READY\n")
if (way == "multiplied") {
  multiplied(matrix(as.numeric(1:1000000 %% 97), 1000))
} else {
  library(data.table)
  setDTthreads(3)
  sorted(data.table(id = (1:2000000 * 7919) %% 1000003))
}
