# For a tap. `make manifests` fills in the version, the address and the archives.
class Kschedweb < Formula
  desc "Explain what kube-scheduler decides, and what would change it"
  homepage "$address"
  version "$version"
  license "Apache-2.0"

$platforms
  def install
    libexec.install Dir["*"]
    bin.install_symlink libexec/"kubectl-ksched"
    bin.install_symlink libexec/"kubectl-ksched" => "kschedweb"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kschedweb --version")
  end
end
