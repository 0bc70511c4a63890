// Calls of a fuzz target that only use descriptions: tensors, scalars, arrays and lists.
#pragma once

#include "fuzz/objects.h"

namespace openaclnn_test {

class Descriptions {
 public:
  Descriptions(Input& in, Objects& objects) : in_(in), objects_(objects) {}

  void read();
  void change();
  void read_size();
  void make_list();

 private:
  Input& in_;
  Objects& objects_;
};

}  // namespace openaclnn_test
