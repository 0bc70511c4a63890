# The names of CANN's libraries that cann-compat has: what src/compat builds, and what `openaclnn compat-check` knows.
set(OPENACLNN_STUB_LIBRARIES
  ascendcl acl_rt nnopbase opapi opapi_math opapi_nn opapi_transformer # today's names
  acl_op_compiler                                                      # samples link it whether they use it or not
  aclnn_ops_infer aclnn_math cust_opapi)                               # names that some programs try first or as well
