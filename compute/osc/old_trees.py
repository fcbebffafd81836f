"""`openstack resource provider tree show` and `tree list`, as they were named before."""

from compute.osc.old_names import of_other_plugin
from compute.osc.trees import FindTrees, ReportTree

ShowTree = of_other_plugin("resource_provider_tree_show") or ReportTree
ListTrees = of_other_plugin("resource_provider_tree_list") or FindTrees
