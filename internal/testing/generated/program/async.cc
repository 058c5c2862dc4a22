/* std::async in a file of its own: a file that uses it takes half a second longer to compile. */
#include <future>

extern "C" void *gen_async(void *(*f)(void *), void *x) {
  std::future<void *> result = std::async(std::launch::async, f, x);
  return result.get();
}
