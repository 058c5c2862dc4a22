/* Containers of C++'s library, smart pointers, thread-local variables and long arrays,
 * in a function that two threads execute. The tests of dap contain their values. */
#include <array>
#include <atomic>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "truth.h"

struct item {
  int id;
  std::string name;
};

thread_local int own = 40;
static thread_local std::array<int, 2> pair;
int shared_counts[250];

__attribute__((noinline)) static int hold(int number, const double *heap, int length) {
  static thread_local long kept = 7;
  std::vector<int> numbers(250);
  for (int i = 0; i < 250; i++)
    numbers[i] = 2 * i;
  std::vector<item> items = {{1, "first"}, {2, "a name of more than sixteen characters"}};
  std::vector<int> none;
  std::array<double, 3> three = {0.5, 1.5, -2};
  std::string brief = "short", empty;
  std::deque<int> queue;
  for (int i = 0; i < 300; i++)
    queue.push_back(i);
  for (int i = 0; i < 5; i++)
    queue.pop_front();
  std::list<int> linked = {3, 1, 2};
  std::forward_list<int> forward = {9, 8};
  std::map<std::string, int> ages = {{"ann", 41}, {"bob", 7}, {"carl", 9}};
  std::map<int, item> byNumber = {{5, {5, "five"}}, {-3, {3, "three"}}};
  std::set<char> letters = {'x', 'a'};
  std::unordered_map<int, double> sparse = {{1000, 0.25}};
  std::unique_ptr<item> only(new item{7, "only"}), nothing;
  std::unique_ptr<int[]> several(new int[3]{4, 5, 6});
  std::shared_ptr<item> common = std::make_shared<item>(item{8, "common"});
  std::optional<int> perhaps = 3, absent;
  std::vector<bool> bits(130), shifted;
  for (int i = 0; i < 130; i++)
    bits[i] = i % 3 == 0;
  shifted.assign(bits.begin() + 60, bits.begin() + 70);
  std::deque<item> large;
  for (int i = 0; i < 200; i++)
    large.push_front({i, std::to_string(i)});
  std::variant<int, double> plain = 2.5;
  std::variant<int, std::string, item> choice = item{9, "chosen"}, word = std::string("a word");
  std::atomic<int> count{12};
  std::vector<int> &reference = numbers;
  own += number;
  pair = {number, 10};
  shared_counts[249] = 5;
  if (number == 0)
    truth_trigger("work_parallel", 1);
  truth_hold("work_parallel", 1);
  return numbers[3] + items[0].id + (int)three[1] + (int)brief.size() + (int)empty.size() + queue[2] + linked.front() +
         forward.front() + ages["bob"] + byNumber[5].id + (int)letters.size() + (int)sparse[1000] + only->id + several[0] +
         common->id + *perhaps + count + (int)kept++ + (int)heap[length - 1] + reference[1] + !nothing + !absent +
         (int)none.size() + bits[3] + shifted[0] + large[1].id + (int)plain.index() + (int)choice.index() +
         (int)word.index();
}

int main(int argc, char **argv) {
  truth_init(argc, argv, __FILE__);
  double *heap = new double[1000];
  for (int i = 0; i < 1000; i++)
    heap[i] = i / 2.0;
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    TRUTH_REGION(__LINE__ - 2);
    sum += hold(omp_get_thread_num(), heap, 1000);
  }
  return sum > 1;
}
