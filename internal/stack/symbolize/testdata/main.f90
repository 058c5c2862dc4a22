! A program whose name is main: gfortran gives it no other name than its symbol.
program main
  implicit none
  integer :: i, n
  n = 0
  !$omp parallel do reduction(+:n)
  do i = 1, 10
    n = n + i
  end do
  print *, n
end program
